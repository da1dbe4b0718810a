/** What a handler or a function returns, as it is stored and as the caller gets it. */
import type { YaokiError } from '../../core/errors/errors.ts'
import { isStored, storedResponse } from '../response/storage-rules.ts'
import type { StoredResponse } from '../store/store.ts'
import { IdempotencyResponseNotStoredError, resultNotJsonError } from './errors.ts'
import type { IdempotencyRequest } from './options.ts'
import type { EngineParts } from './running-claims.ts'

export interface Outcome<Result> {
	readonly result: Result
	/** Set if the result is not stored: its transaction must roll back, or a repetition would write again. */
	readonly rollback?: YaokiError | undefined
	/** Undefined if it is too large. */
	stored(): Promise<StoredResponse | undefined>
}

export const responseOutcome =
	(
		{ settings }: EngineParts,
		{ method, path }: Pick<IdempotencyRequest, 'method' | 'path'>,
	): ((response: Response) => Outcome<Response>) =>
	(response) => ({
		result: response,
		rollback: isStored(settings, { status: response.status, method, path })
			? undefined
			: new IdempotencyResponseNotStoredError(response),
		async stored() {
			const { maxBodyBytes, allowedHeaders } = settings
			const body = new Uint8Array(await response.clone().arrayBuffer())
			return body.length > maxBodyBytes ? undefined : storedResponse(response, body, allowedHeaders)
		},
	})

const JSON_HEADERS = [['content-type', 'application/json']] as const

/** The result of a function is stored as an HTTP response with its JSON. Undefined is an empty body. */
export const valueOutcome =
	({ settings }: EngineParts): ((value: unknown) => Outcome<unknown>) =>
	(value) => {
		const body = new TextEncoder().encode(toJson(value))
		return {
			result: storedValue(body),
			stored: async () =>
				body.length > settings.maxBodyBytes ? undefined : { status: 200, headers: JSON_HEADERS, body },
		}
	}

function toJson(value: unknown): string {
	try {
		return JSON.stringify(value) ?? ''
	} catch (error) {
		throw resultNotJsonError(error)
	}
}

/** The result of a function that was stored. */
export const storedValue = (body: Uint8Array): unknown =>
	body.length === 0 ? undefined : JSON.parse(new TextDecoder().decode(body))
