import type { Service } from '../servers.ts'

export const BINARY = new Uint8Array(256).map((_, at) => at)

/** A repeated name, and two that are not stored. */
export const HEADERS: [name: string, value: string][] = [
	['content-type', 'application/octet-stream'],
	['link', '<a>; rel=next'],
	['link', '<b>; rel=prev'],
	['set-cookie', 'session=1'],
	['x-request-id', '7'],
]

export const created: Service = (_, body) => ({
	status: 201,
	headers: [['content-type', 'application/json']],
	body: body.toString(),
})

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

/** Chunks that are sent one after the other; `gate` is awaited after the first. */
export async function* chunks(count: number, gate?: Promise<unknown>, size = 1): AsyncGenerator<Uint8Array> {
	for (let at = 0; at < count; at++) {
		yield bytesOf(String(at).repeat(size))
		await (at === 0 ? gate : new Promise((resolve) => setImmediate(resolve)))
	}
}
