// One thunk per intercepted MPI name, per longjmp, vfork and dlsym: a jump through a slot, nothing else.
//
// The application calls MPI_X (or PMPI_X) here; the slot leads to the backend's wrapper, to the real
// function (pass-through); an empty one to the lazy path, which has slurmscope_resolve() find out which
// MPI is loaded. A thunk is a tail jump: arguments, stack and return address are the caller's own, so
// the wrapper's return address is the application's call site. The lazy path saves every argument
// register, also the vector ones and rax (variadic MPI_Pcontrol).
// Slot 2*i is MPI_X, slot 2*i+1 PMPI_X, in the order of mpi_calls.def (resolve.cc counts the same way).
	.set	thunk_number, 0

	.macro	thunk name
	.globl	\name
	.type	\name, @function
	.text
	.p2align 4
\name:
.Lthunk_\name:
	.cfi_startproc
	endbr64
	movq	slurmscope_slots+8*thunk_number(%rip), %r11
	testq	%r11, %r11
	je	.Llazy_\name
	jmp	*%r11
	.size	\name, . - \name
	.cfi_endproc
	.p2align 3
.Llazy_\name:
	.cfi_startproc
	pushq	$thunk_number
	.cfi_adjust_cfa_offset 8
	jmp	slurmscope_lazy
	.cfi_endproc
	.section .bss.slurmscope_slots, "aw", @nobits
	.zero	8
	.section .rodata.slurmscope_thunks, "a", @progbits
	.long	.Lthunk_\name - slurmscope_thunks
	.text
	.set	thunk_number, thunk_number + 1
	.endm

	// Empty at first, and no relocation: most processes of a job never look at them.
	.section .bss.slurmscope_slots, "aw", @nobits
	.p2align 6
	.globl	slurmscope_slots
	.hidden	slurmscope_slots
	.type	slurmscope_slots, @object
slurmscope_slots:
	// Where each slot's thunk is, relative to this table, whoever else exports its name.
	.section .rodata.slurmscope_thunks, "a", @progbits
	.p2align 2
	.globl	slurmscope_thunks
	.hidden	slurmscope_thunks
	.type	slurmscope_thunks, @object
slurmscope_thunks:

#define MPI_CALL(name, ...) thunk name ; thunk P##name ;
#include "profiler/mpi/mpi_calls.def"
#undef MPI_CALL

	.section .bss.slurmscope_slots, "aw", @nobits
	.size	slurmscope_slots, . - slurmscope_slots
	.section .rodata.slurmscope_thunks, "a", @progbits
	.size	slurmscope_thunks, . - slurmscope_thunks

	// On entry: the thunk's number, then the caller's return address.
	.text
	.p2align 4
	.type	slurmscope_lazy, @function
slurmscope_lazy:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	pushq	%rbp
	.cfi_def_cfa_offset 24
	.cfi_offset %rbp, -24
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
	movq	8(%rbp), %rdi
	call	slurmscope_resolve
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
	.cfi_def_cfa %rsp, 16
	addq	$8, %rsp
	.cfi_def_cfa_offset 8
	jmp	*%r11
	.cfi_endproc
	.size	slurmscope_lazy, . - slurmscope_lazy

	// Names of libc that change which frames are alive. Tail jumps as well: vfork returns twice into its
	// caller's frame, which a frame of ours in between would not survive. 8 is the offset of
	// ThreadLocal::guard; recorder_state.h checks it.
	.macro	forward name, mark
	.globl	\name
	.type	\name, @function
	.text
	.p2align 4
\name:
	.cfi_startproc
	endbr64
	movq	slurmscope_thread@gottpoff(%rip), %r11
	\mark
	movq	slurmscope_real_\name(%rip), %r11
	testq	%r11, %r11
	je	1f
	jmp	*%r11
1:	subq	$56, %rsp
	.cfi_adjust_cfa_offset 56
	movq	%rdi, 0(%rsp)
	movq	%rsi, 8(%rsp)
	movq	%rdx, 16(%rsp)
	movq	%rcx, 24(%rsp)
	movq	%r8, 32(%rsp)
	movq	%r9, 40(%rsp)
	call	slurmscope_resolve_libc
	movq	0(%rsp), %rdi
	movq	8(%rsp), %rsi
	movq	16(%rsp), %rdx
	movq	24(%rsp), %rcx
	movq	32(%rsp), %r8
	movq	40(%rsp), %r9
	xorl	%eax, %eax
	addq	$56, %rsp
	.cfi_adjust_cfa_offset -56
	jmp	*slurmscope_real_\name(%rip)
	.size	\name, . - \name
	.cfi_endproc
	.data
	.p2align 3
	.globl	slurmscope_real_\name
	.hidden	slurmscope_real_\name
	.type	slurmscope_real_\name, @object
	.size	slurmscope_real_\name, 8
slurmscope_real_\name:
	.zero	8
	.text
	.endm

	// A longjmp may leave a wrapper behind (a handler that jumps out of a blocking read): whoever jumps
	// is outside from now on. A jump that stays inside the wrapped call only makes that call's inner
	// calls visible.
	.macro	leave_guard
	movq	$0, %fs:8(%r11)
	.endm
	forward	longjmp, leave_guard
	forward	_longjmp, leave_guard
	forward	siglongjmp, leave_guard
	forward	__longjmp_chk, leave_guard

	// Marks the thread (kGuardVfork), unless a wrapper has it already.
	.macro	mark_vfork
	cmpq	$0, %fs:8(%r11)
	jne	2f
	movq	$8, %fs:8(%r11)
2:
	.endm
	forward	vfork, mark_vfork
	forward	clone, mark_vfork

	// dlsym(library, name): names of MPI have an answer of their own, and so has mmap in a search of all that is
	// loaded, which depends on who asks (resolve.cc). All else, and RTLD_NEXT, whose answer depends on the caller's
	// address, is libc's. The name is read no further than it goes.
	.hidden	slurmscope_asked_symbol
	.hidden	slurmscope_asked_mapping
	.macro	divert_some
	cmpq	$-1, %rdi
	je	2f
	testq	%rsi, %rsi
	je	2f
	testq	%rdi, %rdi
	jne	4f
	cmpb	$'m', 0(%rsi)
	jne	4f
	cmpb	$'m', 1(%rsi)
	jne	4f
	cmpb	$'a', 2(%rsi)
	jne	4f
	cmpb	$'p', 3(%rsi)
	jne	4f
	movq	(%rsp), %rdi
	jmp	slurmscope_asked_mapping
4:
	movq	%rsi, %rax
	cmpb	$'P', (%rax)
	jne	3f
	incq	%rax
3:	cmpb	$'M', 0(%rax)
	jne	2f
	cmpb	$'P', 1(%rax)
	jne	2f
	cmpb	$'I', 2(%rax)
	jne	2f
	cmpb	$'_', 3(%rax)
	jne	2f
	jmp	slurmscope_asked_symbol
2:
	.endm
	forward	dlsym, divert_some

	.section .note.GNU-stack, "", @progbits
