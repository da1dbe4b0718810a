/** What the middleware needs of nice-grpc, in a few lines: its client has a test of its own among the recipes. */

export class ClientError extends Error {
	readonly path: string
	readonly code: number
	readonly details: string

	constructor(path: string, code: number, details: string) {
		super(`${path} ${code}: ${details}`)
		this.path = path
		this.code = code
		this.details = details
	}
}

export class Metadata implements NiceMetadata {
	readonly #values: Map<string, string>

	constructor(init: Iterable<[string, string]> = []) {
		this.#values = new Map(init)
	}

	get(key: string): string | undefined {
		return this.#values.get(key)
	}

	set(key: string, value: string): this {
		this.#values.set(key, value)
		return this
	}

	[Symbol.iterator](): Iterator<[string, string[]]> {
		return [...this.#values].map(([key, value]): [string, string[]] => [key, [value]]).values()
	}
}

export const nice = { ClientError, Metadata } as const

/** The options that an attempt receives. */
interface AttemptOptions {
	readonly metadata: Metadata
	readonly signal: AbortSignal
	onHeader(header: Metadata): void
	onTrailer(trailer: Metadata): void
}

export type Attempt = (
	request: unknown,
	options: AttemptOptions,
	number: number,
) => AsyncGenerator<unknown, unknown, undefined>

const PATH = '/shop.Users/Get'

/** A call whose attempts are played by this function. */
export function niceCall(
	kind: { readonly requestStream?: boolean; readonly responseStream?: boolean },
	request: unknown,
	attempt: Attempt,
): NiceCall<unknown, unknown> {
	let number = 0
	const { requestStream = false, responseStream = false } = kind
	return {
		method: { path: PATH },
		requestStream,
		responseStream,
		request,
		next: (message: unknown, options: unknown) => attempt(message, options as AttemptOptions, ++number),
	}
}

export const failed = (code: number, details = 'down'): ClientError => new ClientError(PATH, code, details)

/** What the application has received. */
export interface Received {
	readonly items: readonly unknown[]
	readonly error: unknown
}

/** Reads a call to its end, as nice-grpc does. */
export async function read(call: AsyncGenerator<unknown, unknown, undefined>): Promise<Received> {
	const items: unknown[] = []
	try {
		let next = await call.next()
		for (; !next.done; next = await call.next()) items.push(next.value)
		if (next.value !== undefined) items.push(next.value)
		return { items, error: undefined }
	} catch (error) {
		return { items, error }
	}
}

import type { NiceCall, NiceMetadata } from '../../../src/grpc/nice/nice-types.ts'
