/** Moves the tokens of `retryThrottling`: each attempt counts, also that of a hedged request and of a method without a retry policy. */
import { TokenBudget } from '../../core/budget/token-budget.ts'
import type { BoundLayer, Call, Layer } from '../../core/engine/call.ts'
import { GO, type Step } from '../../core/engine/layer.ts'
import { LeafPolicy } from '../../core/engine/policy.ts'
import type { RetryThrottling } from '../service-config/service-config.ts'
import type { IsListed } from './repeat-policies.ts'

/** The tokens of one configured origin: each client has its own. */
export class OriginTokens {
	readonly #throttling: RetryThrottling | undefined
	/** By the client's state of the origin, with which they end. */
	readonly #tokens = new WeakMap<object, TokenBudget>()

	constructor(throttling: RetryThrottling | undefined) {
		this.#throttling = throttling
	}

	/** Returns undefined if retries are not throttled. */
	of(origin: object): TokenBudget | undefined {
		if (!this.#throttling) return undefined
		const tokens = this.#tokens.get(origin) ?? new TokenBudget(this.#throttling)
		this.#tokens.set(origin, tokens)
		return tokens
	}
}

class OutcomeLayer implements Layer {
	readonly #tokens: TokenBudget
	readonly #isListed: IsListed

	constructor(tokens: TokenBudget, isListed: IsListed) {
		this.#tokens = tokens
		this.#isListed = isListed
	}

	enter(call: Call, bound: BoundLayer): Step {
		return call.enterLayer(bound)
	}

	leave({ ok, value }: Call): Step {
		if (ok || this.#isListed(value)) this.#tokens.recordOutcome(ok)
		return GO
	}
}

/** Inside retry and hedge, around the attempt. */
export class OutcomePolicy extends LeafPolicy {
	constructor(tokens: TokenBudget, isListed: IsListed) {
		super('outcomes', {}, new OutcomeLayer(tokens, isListed))
	}
}
