/**
 * A function of the user that is called with these arguments. Parameters of methods are bivariant, so that the user may
 * declare a narrower type, as in `(error: AxiosError) => ...`. A function type accepts only `unknown` there.
 */
export type Hook<Args extends readonly unknown[], Result> = { call(...args: Args): Result }['call']
