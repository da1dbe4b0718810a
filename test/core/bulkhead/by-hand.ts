/** Work that begins when a policy lets it and ends when the test says so, by name. */
import { expect } from 'vitest'
import type { VirtualRuntime } from 'yaoki/testing'

export interface ByHand {
	/** Who has begun, in that order. */
	readonly begun: string[]
	work(name: string): () => Promise<string>
	/** Ends the work of that name, and lets whatever follows from it happen. */
	end(name: string, error?: unknown): Promise<void>
}

export function byHand(clock: VirtualRuntime): ByHand {
	const begun: string[] = []
	const ends = new Map<string, (error?: unknown) => void>()
	return {
		begun,
		work: (name) => () => {
			begun.push(name)
			return new Promise((resolve, reject) => {
				ends.set(name, (error) => (error === undefined ? resolve(name) : reject(error)))
			})
		},
		async end(name, error) {
			const end = ends.get(name) ?? expect.fail(`${name} has not begun`)
			end(error)
			await clock.advance(0)
		},
	}
}

/** Work that ends only when its signal says so. */
export const obedient = ({ signal }: { readonly signal: AbortSignal }) =>
	new Promise<never>((_, reject) => {
		signal.addEventListener('abort', () => reject(signal.reason))
	})

export const never = () => new Promise<never>(() => {})

/** Tells what became of a call without waiting for it, so that a test may look at any moment. */
export function watched<T>(clock: VirtualRuntime, promise: Promise<T>): { at?: number; answer?: unknown } {
	const seen: { at?: number; answer?: unknown } = {}
	const tell = (answer: unknown) => Object.assign(seen, { at: clock.now(), answer })
	promise.then(tell, tell)
	return seen
}
