/**
 * Responses that their handlers have sent or are about to send, and that the store has not confirmed. A
 * repeated request gets them from here, in the process that has them: without that it could claim the key
 * before the response is stored, if the store was away for longer than the lease.
 */
import type { StoredResponse } from '../store/store.ts'

export interface UnstoredResponse {
	readonly fingerprint: string
	/** Undefined if it is too large to store. */
	readonly response: StoredResponse | undefined
	/** Resolves when it has been stored. Rejects when `maxRunMs` is over. */
	readonly stored: Promise<boolean>
	/** Resolves when it has been stored or the client has waited long enough. */
	readonly waited: Promise<void>
}

/** More than this is not held in memory while the store is away. */
export const MAX_UNSTORED_BYTES: number = 64 * 2 ** 20

export class UnstoredResponses {
	readonly #byId = new Map<string, UnstoredResponse>()
	#bytes = 0

	get size(): number {
		return this.#byId.size
	}

	get(id: string): UnstoredResponse | undefined {
		return this.#byId.get(id)
	}

	/**
	 * Returns the response, or undefined if memory is full: the key is then completed without one, so that its
	 * repetition is rejected instead of having a second effect.
	 */
	fitting(response: StoredResponse | undefined): StoredResponse | undefined {
		return response && this.#bytes + response.body.length <= MAX_UNSTORED_BYTES ? response : undefined
	}

	/** Keeps a response until it has been stored or given up. */
	add(id: string, unstored: UnstoredResponse): void {
		const bytes = unstored.response?.body.length ?? 0
		const remove = (): void => {
			this.#bytes -= bytes
			if (this.#byId.get(id) === unstored) this.#byId.delete(id)
		}
		this.#bytes += bytes
		this.#byId.set(id, unstored)
		unstored.stored.then(remove, remove)
	}
}
