import type { GrpcServerContext } from './server-context.ts'

/**
 * Keyed by the metadata or the headers of the request: the only objects that reach both the interceptor and the handler, with grpc-js and
 * with Connect.
 */
const contexts = new WeakMap<object, GrpcServerContext>()

/** Lets `getGrpcContext` find a context. */
export function storeContext(metadata: object, context: GrpcServerContext): void {
	contexts.set(metadata, context)
}

/**
 * Returns the context of a call: its deadline, its signal and its attempt. `call` is the call object of a handler of grpc-js, or the
 * `HandlerContext` of a handler of Connect. Undefined if the server has no interceptor of this package. Calls inside the handler inherit the
 * context without this function.
 *
 * @example
 * import type { handleUnaryCall } from '@grpc/grpc-js'
 *
 * const get: handleUnaryCall<string, object> = (call, callback) => {
 *   const { signal } = getGrpcContext(call) ?? {}
 *   loadUser(call.request, signal).then((user) => callback(null, user), callback)
 * }
 */
export function getGrpcContext(
	call: { readonly metadata: object } | { readonly requestHeader: object },
): GrpcServerContext | undefined {
	return contexts.get('metadata' in call ? call.metadata : call.requestHeader)
}
