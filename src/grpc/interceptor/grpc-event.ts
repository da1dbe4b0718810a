import type { YaokiEvent } from '../../core/events/events.ts'
import type { StatusName } from '../status/status.ts'

/** The fields that a gRPC call adds to its events. */
export interface GrpcEventFields {
	/** The name of the service with its package, such as `'shop.Users'`. `method` is the name of the method. */
	readonly grpcService?: string
	/** How the last attempt ended, or the status that a rejected call ends with, such as `'UNAVAILABLE'`. */
	readonly grpcStatus?: StatusName
	/** `'buffer'` if the call could no longer be retried because its messages exceeded the buffer. */
	readonly grpcCommittedBy?: 'buffer'
}

/**
 * An event of a gRPC interceptor: one of a policy, with the service and the status of the call. Listeners of `interceptor.subscribe` and of
 * the option `onEvent` get it. Events that no call caused have neither service nor status.
 *
 * @example
 * interceptor.subscribe(({ type, grpcService, method, grpcStatus }) => console.log(type, grpcService, method, grpcStatus))
 */
export type GrpcEvent = YaokiEvent & GrpcEventFields

export type GrpcListener = (event: GrpcEvent) => void
