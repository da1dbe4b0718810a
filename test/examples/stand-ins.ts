/** What the documentation's examples take for granted: a user's own functions. They work at once unless they say otherwise. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { HttpError, type Policy, retry } from 'yaoki'

export const id = '7'
export const url = 'https://example.com/users/7'
export const apiKey = 'a key of your own'
export const order = { id: 'o-1', amount: 1_200 }

export interface User {
	readonly id: string
	readonly name: string
}

export async function loadUser(userId: string, signal?: AbortSignal): Promise<User> {
	signal?.throwIfAborted()
	return { id: userId, name: 'Ada' }
}

export async function charge(
	{ id: orderId, amount }: typeof order,
	options: { readonly signal?: AbortSignal } = {},
): Promise<string> {
	options.signal?.throwIfAborted()
	return `receipt for ${orderId}: ${amount}`
}

/** A service that is down for good. */
export async function alwaysFails(): Promise<never> {
	throw new HttpError(503)
}

/** In place of the network. */
export async function fetch(_url: string, init: { readonly signal?: AbortSignal } = {}): Promise<Response> {
	init.signal?.throwIfAborted()
	return new Response('{"id":"7","name":"Ada"}')
}

export const db = {
	query: async (_sql: string, _values: readonly unknown[]): Promise<void> => {},
}

export const policy: Policy = retry()

/** `value // => expected` in an example. */
export function check(actual: unknown, expected: unknown): void {
	expect(actual).toEqual(expected)
}

/** `call() // => throws message` in an example. */
export function checkThrows(run: () => unknown, message: string): void {
	expect(run).toThrow(message)
}

/** `'shop.db'` in an example: a file that is gone after it. */
export function temporaryFile(): string {
	const folder = mkdtempSync(join(tmpdir(), 'yaoki-docs-'))
	onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
	return join(folder, 'shop.db')
}
