/**
 * A circuit breaker that knows what the failures of gRPC calls say about a server. Some say little: a deadline that was too short for any
 * server, streams that end because the connection that they share was lost, and a message that was never sent.
 */
import { CircuitBreaker } from '../../core/circuit-breaker/circuit-breaker.ts'
import type { CircuitBreakerOptions } from '../../core/circuit-breaker/options.ts'
import type { Call } from '../../core/engine/call.ts'
import { isOversized } from '../status/oversized.ts'
import { DEADLINE_EXCEEDED } from '../status/status.ts'
import { GrpcStatusError } from '../status/status-error.ts'
import { type LostConnection, lostConnectionOf } from './lost-connection.ts'
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
	 * The attempts of a lost connection fail together, and count once. Those that had started when a loss was counted were on the same connection:
	 * a comparison of times would have to guess how long a busy process takes to report all of them.
	 */
	#isKnownLoss({ hasDelivered }: Rpc, { peer, attempt }: LostConnection): boolean {
		if (hasDelivered || attempt <= (this.#losses.get(peer) ?? 0)) return true
		if (this.#losses.size >= MAX_PEERS) this.#losses.clear()
		this.#losses.set(peer, this.#facts.attempts)
		return false
	}
}
