import type { Call } from '../../core/engine/call.ts'
import type { CallContext } from '../../core/engine/call-options.ts'
import { RequestContext } from '../../http/server/request-context.ts'
import type { MethodName } from '../service-config/service-config.ts'

/**
 * The context of an incoming gRPC call, which `getGrpcContext(call)` returns. Calls inside the handler
 * inherit it from the async context; where that is not possible, pass it as call options, or as their
 * `parent`.
 */
export interface GrpcServerContext extends CallContext {
	/** The name of the service with its package, such as `'shop.Users'`. */
	readonly service: string
	readonly method: string
	/** True if the client's deadline has expired. */
	readonly isExpired: boolean
	/** True if retries in the handler are exhausted. A failed status then forbids the client to retry. */
	readonly retriesExhausted: boolean
	/**
	 * Ends the context. The interceptors call it with the status. A handler that stops because its signal was
	 * aborted can call it to free its slot of the bulkhead, if it does not call its callback anymore.
	 */
	end(): void
}

export class RpcContext extends RequestContext implements GrpcServerContext {
	readonly #end: () => void
	readonly service: string
	readonly method: string

	constructor(call: Call, attempt: number, { service, method }: MethodName, end: () => void) {
		super(call, attempt)
		this.service = service
		this.method = method
		this.#end = end
	}

	override end(): void {
		this.#end()
	}
}

/**
 * Keyed by the metadata or the headers of the request: the only objects that reach both the interceptor and
 * the handler, with grpc-js and with Connect.
 */
const contexts = new WeakMap<object, GrpcServerContext>()

/** Lets `getGrpcContext` find a context. */
export function storeContext(metadata: object, context: GrpcServerContext): void {
	contexts.set(metadata, context)
}

/**
 * Returns the context of a call: its deadline, its signal and its attempt. `call` is the call object of a
 * handler of grpc-js, or the `HandlerContext` of a handler of Connect. Undefined if the server has no
 * interceptor of this package. Calls inside the handler inherit the context without this function.
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
