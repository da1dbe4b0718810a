/** Functions of a user that the examples in the documentation assume. They succeed immediately unless documented otherwise. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { HttpError, type Policy, retry } from 'yaoki'

export const id = '7'
export const url = 'https://example.com/users/7'
export const apiKey = 'a key of your own'
export const getToken = async (): Promise<string> => 'a fresh token'
export const newTraceId = async (): Promise<string> => 'trace-7'
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

/** The caller that an authentication has stored in a request. */
export const authenticatedUser = (_request: unknown): { readonly id: string } | undefined => ({ id: '7' })

export async function chargeCard(
	{ id: orderId }: { readonly id: string },
	_options: { readonly idempotencyKey: string },
): Promise<{ readonly receipt: string }> {
	return { receipt: `receipt for ${orderId}` }
}

export async function sendMail(_content: unknown): Promise<void> {}

/** A service that always fails. */
export async function alwaysFails(): Promise<never> {
	throw new HttpError(503)
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

/** Replaces `'shop.db'` or `'events.jsonl'` in an example: a file that is deleted afterwards. */
export function temporaryFile(): string {
	const folder = mkdtempSync(join(tmpdir(), 'yaoki-docs-'))
	onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
	return join(folder, 'file')
}
