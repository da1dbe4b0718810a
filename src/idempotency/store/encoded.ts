/** Responses and steps as the columns of a table. */
import type { StoredKey, StoredResponse, StoredSteps } from './store.ts'

/** Texts, and the body as bytes. */
export type EncodedResponse = readonly [status: number, headers: string, body: Uint8Array]

export const NO_STEPS: StoredSteps = Object.freeze({})

export const encodeResponse = ({ status, headers, body }: StoredResponse): EncodedResponse => [
	status,
	JSON.stringify(headers),
	body,
]

/** `body` is bytes, or hexadecimal digits after `\x` if the user's driver has no parser for bytes. */
export const decodeResponse = (status: number, headers: string, body: unknown): StoredResponse => ({
	status,
	headers: JSON.parse(headers),
	body: typeof body === 'string' ? fromHex(body.slice(2)) : plainBytes(body as Uint8Array),
})

/** Returns an array that is no Buffer of Node: some of its methods do something else. */
const plainBytes = ({ buffer, byteOffset, length }: Uint8Array): Uint8Array =>
	new Uint8Array(buffer, byteOffset, length)

function fromHex(digits: string): Uint8Array {
	const bytes = new Uint8Array(digits.length / 2)
	for (let at = 0; at < bytes.length; at++) bytes[at] = Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16)
	return bytes
}

/**
 * A step is appended as an item of a JSON array without brackets, so that saving one needs no read of the
 * others. Not a `jsonb`, which rejects the escapes of NUL and of lone surrogates.
 */
export const encodeStep = (name: string, value: string): string => `${JSON.stringify([name, value])},`

export const decodeSteps = (steps: string | null): StoredSteps =>
	steps === null || steps === '' ? NO_STEPS : Object.fromEntries(JSON.parse(`[${steps.slice(0, -1)}]`))

/** The columns of a key that people see. */
export interface KeyColumns extends Omit<StoredKey, 'leaseLeftMs' | 'steps'> {
	readonly leaseLeftMs: number
	readonly steps: string | null
}

export const toStoredKey = (columns: KeyColumns): StoredKey => ({
	...columns,
	leaseLeftMs: columns.state === 'running' ? columns.leaseLeftMs : null,
	steps: Object.keys(decodeSteps(columns.steps)),
})

/** Longer times are not distinguished: 3,000 years. The sum of three of them is an exact integer. */
const MAX_MS = 1e14

/** Returns a duration as an integer, never shorter. */
export const wholeMs = (ms: number): number => Math.min(Math.ceil(ms), MAX_MS)
