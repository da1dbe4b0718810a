import type { Call } from '../../core/engine/call.ts'
import type { CallContext } from '../../core/engine/call-options.ts'
import { RequestContext } from '../../http/server/request-context.ts'
import type { MethodName } from '../service-config/service-config.ts'

/**
 * The context of an incoming gRPC call, which `getGrpcContext(call)` returns. Calls inside the handler inherit it from the async context;
 * where that is not possible, pass it as call options, or as their `parent`.
 */
export interface GrpcServerContext extends CallContext {
	/** The name of the service with its package, such as `'shop.Users'`. */
	readonly service: string
	readonly method: string
	/** True if the client's deadline has expired. */
	readonly isExpired: boolean
	/** True if a retry inside this call has exhausted its retries. A failed status then forbids the client to retry. */
	readonly retriesExhausted: boolean
	/**
	 * Ends the context. The interceptors call it with the status. A handler that stops because its signal was aborted can call it to free
	 * its slot of the bulkhead, if it does not call its callback anymore.
	 */
	end(): void
}

/** Returns the service and the method of a path such as `/shop.Users/Get`. */
export function parsePath(path: string): MethodName {
	const slash = path.lastIndexOf('/')
	return {
		service: path.slice(path.startsWith('/') ? 1 : 0, Math.max(0, slash)),
		method: path.slice(slash + 1),
	}
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
