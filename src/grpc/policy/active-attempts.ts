/** The attempts of a call that have not ended: one, except while the call is hedged. */
export class ActiveAttempts<Attempt extends { readonly sentMessages: number }> {
	#attempts: readonly Attempt[] = []

	get all(): readonly Attempt[] {
		return this.#attempts
	}

	add(attempt: Attempt): void {
		this.#attempts = [...this.#attempts, attempt]
	}

	remove(attempt: Attempt): void {
		this.#attempts = this.#attempts.filter((other) => other !== attempt)
	}

	/** Removes all attempts and returns them. */
	removeAll(): readonly Attempt[] {
		const all = this.#attempts
		this.#attempts = []
		return all
	}

	/** Removes all attempts but this one, and returns the removed attempts. */
	removeOthers(attempt: Attempt): readonly Attempt[] {
		const others = this.#attempts.filter((other) => other !== attempt)
		this.#attempts = [attempt]
		return others
	}

	/** Returns the attempt that has sent the most messages, the earliest of them if there are several. */
	get mostAdvanced(): Attempt | undefined {
		return this.#attempts.toSorted((a, b) => b.sentMessages - a.sentMessages)[0]
	}
}
