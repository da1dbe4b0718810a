/** A call as far as its facts are concerned. */
interface WithFacts {
	readonly rare: { readonly [fact: symbol]: unknown } | undefined
	/** The same, created on first use. */
	readonly rareState: { [fact: symbol]: unknown }
}

/**
 * What a policy or a protocol must remember about few calls. Each declares its own facts, so that the engine
 * knows none of them: `const hint = new CallFact<string>()`. The value is a property of the call, because a
 * WeakMap costs more than the rest of a failed call.
 */
export class CallFact<T> {
	readonly #name: symbol = Symbol()

	of({ rare }: WithFacts): T | undefined {
		return rare?.[this.#name] as T | undefined
	}

	set({ rareState }: WithFacts, value: T | undefined): void {
		rareState[this.#name] = value
	}
}
