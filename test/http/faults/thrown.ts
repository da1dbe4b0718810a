/** How a call ended, in the terms of the table: the same for clients that wrap the network error and for those that do not. */
import { expect } from 'vitest'
import type { Thrown } from './client-errors.ts'

export interface Ending {
	readonly at: 'head' | 'body'
	readonly error?: unknown
	readonly text?: string
}

/** Sends a request and reads the response to its end. `send` returns the function that reads the body. */
export async function ending(send: () => Promise<() => Promise<string>>): Promise<Ending> {
	let at: Ending['at'] = 'head'
	try {
		const read = await send()
		at = 'body'
		return { at, text: await read() }
	} catch (error) {
		return { at, error }
	}
}

/** `fetch` reports where it failed in the message of a TypeError, and why in its cause. */
export function expectFetchError({ at, error }: Ending, thrown: Thrown): void {
	expect(error).toBeInstanceOf(TypeError)
	expect(error).toHaveProperty('message', at === 'head' ? 'fetch failed' : 'terminated')
	expectError(error instanceof Error ? error.cause : undefined, thrown)
}

export function expectError(error: unknown, { name, code, message }: Thrown): void {
	expect(error).toMatchObject({ name, message: expect.stringMatching(message) })
	expect(error instanceof Error && 'code' in error ? error.code : undefined).toBe(code)
}
