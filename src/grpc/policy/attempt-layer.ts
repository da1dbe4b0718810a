/**
 * The innermost layer of every call. After each attempt, also of a hedged call, it moves the tokens of
 * `retryThrottling` and decides whether the call may be attempted again at all. Which statuses are retried,
 * and when, is decided by the retry and hedging layers around it.
 */
import type { TokenBudget } from '../../core/budget/token-budget.ts'
import type { BoundLayer, Call, Layer } from '../../core/engine/call.ts'
import { runPending } from '../../core/engine/interruptible-runner.ts'
import type { Step } from '../../core/engine/layer.ts'
import { findExhausted, nextStart } from '../../core/explain/exhausted-retries.ts'
import { NO_RETRY } from '../status/retry-metadata.ts'
import type { StatusCode } from '../status/status.ts'
import { GrpcStatusError, isOversized } from '../status/status-error.ts'
import { rpcOf } from './rpc.ts'

const NONE: ReadonlySet<StatusCode> = new Set()

export class AttemptLayer implements Layer {
	/** An attempt is always pending after a microtask, so core's other runner would check unnecessarily. */
	readonly runner: typeof runPending = runPending
	readonly #tokens: TokenBudget | undefined
	/** The statuses that count as failures for the tokens. */
	readonly #counted: ReadonlySet<StatusCode>

	constructor(tokens: TokenBudget | undefined, counted: ReadonlySet<StatusCode> = NONE) {
		this.#tokens = tokens
		this.#counted = counted
	}

	enter(call: Call, bound: BoundLayer): Step {
		return call.enterLayer(bound)
	}

	leave(call: Call, _bound: BoundLayer): Step {
		const { ok, value } = call
		const { cancellation, isCommitted } = rpcOf(call)
		if (ok) this.#tokens?.recordOutcome(true)
		else if (cancellation && value === cancellation) call.stop ??= 'abort'
		// Anything else did not come from the server: another request was answered first, user code threw, or a
		// message was not sent.
		else if (value instanceof GrpcStatusError && !isOversized(value)) {
			const isVeto = value.pushbackMs === NO_RETRY
			if (isVeto || this.#counted.has(value.code)) this.#tokens?.recordOutcome(false)
			if (isCommitted) call.stop ??= 'committed'
			else if (isVeto) {
				call.stop ??= 'server-veto'
				// Also without a retry policy: the retries around this call must not repeat what the server has
				// forbidden.
				call.rareState.finalSince = nextStart()
			} else if (findExhausted(value)) call.stop ??= 'inner-retry'
		}
		return 'continue'
	}
}
