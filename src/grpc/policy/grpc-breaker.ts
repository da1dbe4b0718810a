/**
 * A circuit breaker that knows what the failures of gRPC calls say about a server. Some say little: a
 * deadline that was too short for any server, streams that end because the connection that they share was
 * lost, and a message that was never sent.
 */
import { CircuitBreaker } from '../../core/circuit-breaker/circuit-breaker.ts'
import { CircuitBreakerLayer } from '../../core/circuit-breaker/layer.ts'
import type { CircuitBreakerOptions } from '../../core/circuit-breaker/options.ts'
import type { BoundLayer, Call } from '../../core/engine/call.ts'
import { DEADLINE_EXCEEDED } from '../status/status.ts'
import {
	GrpcStatusError,
	isOversized,
	type LostConnection,
	lostConnectionOf,
} from '../status/status-error.ts'
import { type Rpc, rpcOf } from './rpc.ts'

/** A deadline loses some time between the caller and the interceptor. */
const DEADLINE_SHARE = 0.9

/** A client may call any number of servers. */
const MAX_PEERS = 1_000

/** What the breakers of an interceptor share. */
export interface BreakerFacts {
	/** How many attempts the interceptor has started. */
	readonly attempts: number
	readonly countedDeadlineMs: number
}

export class GrpcBreaker extends CircuitBreaker {
	readonly #facts: BreakerFacts
	/** For each peer, the number of attempts that had started when a lost connection was last counted. */
	readonly #losses = new Map<string, number>()

	constructor(options: CircuitBreakerOptions, facts: BreakerFacts) {
		super(options)
		this.#facts = facts
		this.layer.outcomeInstead = (call) => (this.#isIrrelevant(call) ? 'nothing' : undefined)
	}

	#isIrrelevant(call: Call): boolean {
		const rpc = rpcOf(call)
		const { value } = call
		const lost = lostConnectionOf(value)
		if (isOversized(value)) return true
		if (lost) return this.#isKnownLoss(rpc, lost)
		return value instanceof GrpcStatusError && value.code === DEADLINE_EXCEEDED && this.#isShort(rpc)
	}

	#isShort({ givenMs, target }: Rpc): boolean {
		return givenMs < DEADLINE_SHARE * (target.config?.timeoutMs ?? this.#facts.countedDeadlineMs)
	}

	/**
	 * The attempts of a lost connection fail together, and count once. An attempt that had started when a loss
	 * was counted was on the same connection: a comparison of times would have to guess how long a busy process
	 * takes to report all of them.
	 */
	#isKnownLoss({ hasDelivered }: Rpc, { peer, attempt }: LostConnection): boolean {
		if (hasDelivered || attempt <= (this.#losses.get(peer) ?? 0)) return true
		if (this.#losses.size >= MAX_PEERS) this.#losses.clear()
		this.#losses.set(peer, this.#facts.attempts)
		return false
	}
}

/** Returns the breaker of a call if its circuit is half-open. The call need not be a probe. */
function halfOpenBreaker({ call }: Rpc): BoundLayer<CircuitBreakerLayer> | undefined {
	for (let bound = call?.pipeline.first; bound; bound = bound.next)
		if (bound.layer instanceof CircuitBreakerLayer && bound.layer.circuit.state === 'half-open')
			return bound as BoundLayer<CircuitBreakerLayer>
	return undefined
}

export const mayBeProbe = (rpc: Rpc): boolean => halfOpenBreaker(rpc) !== undefined

/** The response of a stream has begun. A probe has succeeded then, because a stream may run for hours. */
export function confirmProbe(rpc: Rpc): void {
	const bound = halfOpenBreaker(rpc)
	if (bound && rpc.call) bound.layer.confirmProbe(rpc.call, bound)
}
