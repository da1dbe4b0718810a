import { YaokiError } from '../../core/errors/errors.ts'
import { copyRecord } from '../../core/explain/record.ts'
import type { SchemaIssue } from '../../core/options/standard-schema.ts'
import { urlForMessage } from '../origin/origin-parser.ts'

/**
 * A successful response whose body is not what `json()` expects: it is empty, not JSON, or does not match the
 * schema. `json()` of a `ResponsePromise` rejects with it. It is not retried; compare `issues` with the API.
 *
 * @example
 * const error = await client.get(url).json(User).catch((error) => error)
 * if (error.code === 'YAOKI_INVALID_RESPONSE') console.log(error.statusCode, error.issues)
 */
export class InvalidResponseError extends YaokiError {
	override readonly name = 'InvalidResponseError'
	readonly method: string
	/** The URL without its query, which may contain secrets. */
	readonly url: string
	readonly statusCode: number
	readonly contentType: string | undefined
	/** Private, so that loggers do not print it: issues of some libraries contain the value. */
	readonly #issues: readonly SchemaIssue[] | undefined

	/** @internal `what` says what is wrong. */
	constructor(
		what: string,
		{ method, url }: { readonly method: string; readonly url: string },
		response: Response,
		issues?: readonly SchemaIssue[],
	) {
		const contentType = response.headers.get('content-type') ?? undefined
		const place = urlForMessage(url)
		const type = contentType ?? 'no content-type'
		super('YAOKI_INVALID_RESPONSE', `${method} ${place}: ${what} (HTTP ${response.status}, ${type})`)
		this.method = method
		this.url = place
		this.statusCode = response.status
		this.contentType = contentType
		this.#issues = issues
		copyRecord(response, this)
	}

	/** What does not match the schema; undefined if the body is empty or not JSON. */
	get issues(): readonly SchemaIssue[] | undefined {
		return this.#issues
	}
}

/** How many paths a message names. */
const MAX_PATHS = 3

/** Returns the number of issues and where the first ones are, without messages, which may quote the value. */
export function describeIssues(issues: readonly SchemaIssue[]): string {
	const paths = issues.slice(0, MAX_PATHS).map(({ path = [] }) => {
		const keys = path.map((part) => String(typeof part === 'object' ? part.key : part))
		return keys.join('.') || 'the top level'
	})
	const count = `${issues.length} issue${issues.length === 1 ? '' : 's'}`
	return `${count}, at ${paths.join(', ')}${issues.length > MAX_PATHS ? ', ...' : ''}`
}
