// The wrappers of MPI_Pcontrol(level, ...): a call of slurmscope_before_pcontrol, then a jump to the real
// function with every register and the stack as the caller left them, because `...` may be anything.
//
// Linked into each backend, reached through the preload's thunks. Vector registers are saved too: a
// variadic call passes floating point in them, and says in al how many.

	.macro	pcontrol name, is_profiling
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.text
	.p2align 4
\name:
	.cfi_startproc
	endbr64
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq	$192, %rsp
	andq	$-16, %rsp
	movq	%rdi, 0(%rsp)
	movq	%rsi, 8(%rsp)
	movq	%rdx, 16(%rsp)
	movq	%rcx, 24(%rsp)
	movq	%r8, 32(%rsp)
	movq	%r9, 40(%rsp)
	movq	%rax, 48(%rsp)
	movaps	%xmm0, 64(%rsp)
	movaps	%xmm1, 80(%rsp)
	movaps	%xmm2, 96(%rsp)
	movaps	%xmm3, 112(%rsp)
	movaps	%xmm4, 128(%rsp)
	movaps	%xmm5, 144(%rsp)
	movaps	%xmm6, 160(%rsp)
	movaps	%xmm7, 176(%rsp)
	movl	$\is_profiling, %esi
	movq	8(%rbp), %rdx
	leaq	16(%rbp), %rcx
	call	slurmscope_before_pcontrol
	movq	%rax, %r11
	movq	0(%rsp), %rdi
	movq	8(%rsp), %rsi
	movq	16(%rsp), %rdx
	movq	24(%rsp), %rcx
	movq	32(%rsp), %r8
	movq	40(%rsp), %r9
	movq	48(%rsp), %rax
	movaps	64(%rsp), %xmm0
	movaps	80(%rsp), %xmm1
	movaps	96(%rsp), %xmm2
	movaps	112(%rsp), %xmm3
	movaps	128(%rsp), %xmm4
	movaps	144(%rsp), %xmm5
	movaps	160(%rsp), %xmm6
	movaps	176(%rsp), %xmm7
	leave
	.cfi_def_cfa %rsp, 8
	jmp	*%r11
	.cfi_endproc
	.size	\name, . - \name
	.endm

	pcontrol slurmscope_pcontrol, 0
	pcontrol slurmscope_ppcontrol, 1

	.section .note.GNU-stack, "", @progbits
