// A reference to a lambda that outlives the call it is passed to: two words, no template behind it.
//
// The engine's functions for calls that enter the kernel anyway take the real call in this form, so that there is one
// copy of each and not one per wrapper; the library is mapped into every process of a job. The hot ones (read, write)
// are templates.
#pragma once

#include <type_traits>
#include <utility>

namespace slurmscope {

template <typename Function> class FunctionRef;
template <typename R, typename... A> class FunctionRef<R(A...)> {
 public:
  template <typename Lambda, typename = std::enable_if_t<!std::is_same_v<std::decay_t<Lambda>, FunctionRef>>>
  FunctionRef(const Lambda &lambda)
      : lambda_(&lambda), invoke_([](const void *object, A... arguments) -> R {
          return (*static_cast<const Lambda *>(object))(std::forward<A>(arguments)...);
        }) {}
  R operator()(A... arguments) const { return invoke_(lambda_, std::forward<A>(arguments)...); }

 private:
  const void *lambda_;
  R (*invoke_)(const void *, A...);
};

/// What a lambda without arguments returns.
template <typename Lambda> using ResultOf = std::decay_t<decltype(std::declval<Lambda>()())>;

}  // namespace slurmscope
