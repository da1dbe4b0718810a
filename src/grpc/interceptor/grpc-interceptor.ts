import { INSPECT, type Inspectable, type Inspection } from '../../core/inspect/inspect.ts'
import { OBSERVE, type Observable, type Observation } from '../../core/observe/observe.ts'
import type { GrpcListener } from './grpc-event.ts'

/** What an interceptor has besides its function. */
export interface GrpcInterceptor<Stats> extends Inspectable, Observable {
	/** Subscribes to every event of every call. Returns a function that unsubscribes. */
	subscribe(listener: GrpcListener): () => void
	/** Totals, and the current state of the policies. */
	readonly stats: Stats
}

/** What runs the calls of an interceptor. */
interface InterceptorEngine<Stats> {
	readonly stats: Stats
	subscribe(listener: GrpcListener): () => void
	inspect(): Inspection
	observation(): Observation
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
		[INSPECT]: () => engine.inspect(),
		[OBSERVE]: () => engine.observation(),
	}
	return Object.defineProperties(interceptor, Object.getOwnPropertyDescriptors(members)) as F &
		GrpcInterceptor<Stats>
}
