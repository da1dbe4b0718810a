/**
 * The promise that a client returns: a native promise with two own methods. A subclass of Promise would be
 * slower to await, and would be missing in the async stack of an error.
 */
import { invalidArgument } from '../../core/options/schema.ts'
import type { StandardSchema } from '../../core/options/standard-schema.ts'
import type { Draft } from './client-request.ts'
import { describeIssues, InvalidResponseError } from './invalid-response-error.ts'

/**
 * The promise of a response, which `client.get()` and the other methods of a `ResilientHttpClient` return.
 * Its methods read the body without a second `await`.
 */
export interface ResponsePromise extends Promise<Response> {
	/**
	 * Resolves with the JSON body, and sends `accept: application/json` if the request has no other `accept`
	 * header. A schema (zod, valibot, ArkType or another one with Standard Schema) validates the body and gives
	 * it its type. Rejects with an InvalidResponseError if the body is empty, not JSON, or does not match.
	 *
	 * @example
	 * import * as z from 'zod'
	 *
	 * const user = await client.get('/users/7').json(z.object({ name: z.string() }))
	 */
	json<Output>(schema: StandardSchema<unknown, Output>): Promise<Output>
	json<T = unknown>(): Promise<T>
	/** Resolves with the body as text. */
	text(): Promise<string>
}

/** How much of a body a message quotes. After a name may be a secret: `access_token=`, `{"password":`. */
const QUOTED = /^[^=:]{0,60}/

/** Adds the methods to the promise of a response. */
export function responsePromise(sent: Promise<Response>, draft: Draft): ResponsePromise {
	let body: Promise<string> | undefined
	const text = () => {
		// Read once, so that `json()` and `text()` can both be called.
		body ??= sent.then((response) => response.text())
		return body
	}
	const json = async (schema?: StandardSchema): Promise<unknown> => {
		draft.acceptsJson = true
		const value = parse(await text(), draft, await sent)
		if (schema === undefined) return value
		const standard = schema?.['~standard']
		if (!standard?.validate)
			invalidArgument('schema', schema, 'a Standard Schema, such as one of zod or valibot')
		const result = await standard.validate(value)
		if (!result.issues) return result.value
		const what = `the body does not match the schema: ${describeIssues(result.issues)}`
		throw new InvalidResponseError(what, draft, await sent, result.issues)
	}
	return Object.assign(sent, { json, text }) as ResponsePromise
}

function parse(text: string, draft: Draft, response: Response): unknown {
	if (text === '') throw new InvalidResponseError('expected JSON, got an empty body', draft, response)
	try {
		return JSON.parse(text)
	} catch {
		// No cause: it would quote the body too.
		const [start = ''] = QUOTED.exec(text) ?? []
		const line = start.replace(/[\s\p{Cc}\p{Cs}]+/gu, ' ')
		const what = `expected JSON, got "${line}${start === text ? '' : '...'}"`
		throw new InvalidResponseError(what, draft, response)
	}
}
