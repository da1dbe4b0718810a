import type { YaokiEvent } from '../../core/events/events.ts'
import type { Inspectable, InspectableObservation } from '../../core/observe/inspection.ts'
import type { StatusName } from '../status/status.ts'

/** What an interceptor has besides its function. */
export interface GrpcInterceptor<Stats> extends Inspectable {
	/** Subscribes to every event of every call. Returns a function that unsubscribes. */
	subscribe(listener: GrpcListener): () => void
	/** Totals, and the current state of the policies. */
	readonly stats: Stats
}

/** What runs the calls of an interceptor. */
interface InterceptorEngine<Stats> {
	readonly stats: Stats
	subscribe(listener: GrpcListener): () => void
	observation(): InspectableObservation
}

/** Adds what every interceptor has to its function. */
export function extendInterceptor<F extends object, Stats>(
	interceptor: F,
	engine: InterceptorEngine<Stats>,
): F & GrpcInterceptor<Stats> {
	const members: GrpcInterceptor<Stats> = {
		subscribe: (listener) => engine.subscribe(listener),
		get stats() {
			return engine.stats
		},
		'~observable': () => engine.observation(),
	}
	return Object.defineProperties(interceptor, Object.getOwnPropertyDescriptors(members)) as F &
		GrpcInterceptor<Stats>
}

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
 * An event of a gRPC interceptor: one of a policy, with the service and the status of the call. Listeners of
 * `interceptor.subscribe` and of the option `onEvent` get it. Events that no call caused have neither service
 * nor status.
 *
 * @example
 * interceptor.subscribe(({ type, grpcService, method, grpcStatus }) => console.log(type, grpcService, method, grpcStatus))
 */
export type GrpcEvent = YaokiEvent & GrpcEventFields

export type GrpcListener = (event: GrpcEvent) => void
