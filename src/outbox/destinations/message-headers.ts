/** The headers by which a receiver of `httpDestination` recognizes a message. */
import { isObject } from '../../core/options/schema.ts'
import type { Message } from '../message/message.ts'

export type HeaderRecord = Readonly<Record<string, string>>

/** Returns the headers of a request: the message's, overridden by `own`; its id cannot be overridden. */
export const requestHeaders = (message: Message, own: HeaderRecord | undefined): Record<string, string> => ({
	'content-type': 'application/json',
	'x-message-topic': encodeURIComponent(message.topic),
	...keyHeaders(message),
	...toLowerCase(message.headers),
	...toLowerCase(own ?? {}),
	'idempotency-key': message.id,
})

/** Returns true for an object with string values. Others would be sent as `undefined` or `[object Object]`. */
export const isHeaderRecord = (value: unknown): value is HeaderRecord =>
	isObject(value) && Object.values(value).every((one) => typeof one === 'string')

/** Positions of messages without a key say nothing about their order. */
const keyHeaders = ({ key, sequence }: Message): Record<string, string> =>
	key === undefined
		? {}
		: { 'x-message-key': encodeURIComponent(key), 'x-message-sequence': String(sequence) }

/** Lower-cased, because `fetch` would send two headers that differ only in case. */
const toLowerCase = (headers: HeaderRecord): Record<string, string> =>
	Object.fromEntries(
		Object.entries(headers).map(([name, value]) => [name.toLowerCase(), encodeHeaderValue(value)]),
	)

/** Encodes values outside Latin-1, which `fetch` and `node:http` reject. */
export const encodeHeaderValue = (value: string): string =>
	BEYOND_LATIN_1.test(value) ? encodeURIComponent(value) : value

const BEYOND_LATIN_1 = /[^\0-\xff]/
