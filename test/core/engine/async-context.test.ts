import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, it } from 'vitest'
import { retry } from 'yaoki'

describe('AsyncLocalStorage', () => {
	it("restores the caller's context after a wait, with many concurrent callers", async () => {
		const storage = new AsyncLocalStorage<string>()
		const policy = retry({ baseDelayMs: 1, maxDelayMs: 3, maxRetries: 3 })
		const callers = Array.from({ length: 50 }, (_, i) => `caller ${i}`)
		const seen = await Promise.all(
			callers.map((caller) =>
				storage.run(caller, async () => {
					const contexts: (string | undefined)[] = []
					await policy.settle(
						() => {
							contexts.push(storage.getStore())
							throw new Error('x')
						},
						{ signal: new AbortController().signal },
					)
					return [...contexts, storage.getStore()]
				}),
			),
		)
		expect(seen).toEqual(callers.map((caller) => new Array(5).fill(caller)))
	})

	it("runs hooks in the caller's context", async () => {
		const storage = new AsyncLocalStorage<string>()
		const seen: (string | undefined)[] = []
		const policy = retry({ baseDelayMs: 1, maxRetries: 2, onRetry: () => seen.push(storage.getStore()) })
		await storage.run('mine', () => policy.settle(() => Promise.reject(new Error('x'))))
		expect(seen).toEqual(['mine', 'mine'])
	})
})
