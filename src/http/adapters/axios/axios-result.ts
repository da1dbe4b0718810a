/**
 * Converts the engine's results to what axios users expect: the response with the caller's own config,
 * `validateStatus`, an AxiosError with its codes, a CanceledError. Only rejections by policies, for which
 * axios has no equivalent, are thrown unchanged.
 */
import { reportAsResult } from '../../../core/engine/call-record.ts'
import { TimeoutError } from '../../../core/errors/errors.ts'
import { copyRecord, findRecord } from '../../../core/explain/record.ts'
import type { HttpStatusError } from '../../request/status-error.ts'
import { type AxiosConfig, type AxiosModule, type AxiosResponse, isAxiosFailure } from './axios-module.ts'
import type { AxiosResponseView } from './axios-response.ts'

const DATA_NOT_REPLAYABLE =
	' (not retried: data is a stream and was already sent. Pass data: () => a new stream)'

export class AxiosResult<Config extends AxiosConfig, Result extends AxiosResponse> {
	readonly #axios: AxiosModule<Config, Result>
	readonly #config: Config

	constructor(axios: AxiosModule<Config, Result>, config: Config) {
		this.#axios = axios
		this.#config = config
	}

	/** Returns the response; throws, as axios does, if `validateStatus` rejects its status. */
	response(view: AxiosResponseView<Result>, statusError?: HttpStatusError): Result {
		const { result } = view
		const { validateStatus } = this.#config
		const { status } = result
		copyRecord(view, result)
		if (!status || !validateStatus || validateStatus(status)) {
			if (statusError) reportAsResult(statusError)
			return result
		}
		const error = this.#error(
			view,
			`Request failed with status code ${status}`,
			status >= 400 && status < 500 ? 'ERR_BAD_REQUEST' : 'ERR_BAD_RESPONSE',
			{ request: result.request, response: result },
		)
		const retryAfterMs = statusError?.retryAfterMs
		throw retryAfterMs === undefined ? error : Object.assign(error, { retryAfterMs })
	}

	/** Returns the error to throw for an error of the engine. */
	failure(error: unknown): unknown {
		const isBodyUsed = findRecord(error)?.stop === 'body-used'
		// The engine wraps a network error that was not retried because of its body.
		const inner = isBodyUsed && error instanceof TypeError ? error.cause : error
		const hint = isBodyUsed ? DATA_NOT_REPLAYABLE : ''
		if (inner instanceof TimeoutError) {
			const { timeoutErrorMessage, transitional } = this.#config
			const message = timeoutErrorMessage || `timeout of ${inner.timeoutMs}ms exceeded`
			const code = transitional?.clarifyTimeoutError ? 'ETIMEDOUT' : 'ECONNABORTED'
			return this.#error(error, message + hint, code, { cause: inner })
		}
		if (!hint || !isAxiosFailure<Config, Result>(inner)) return error
		const { request, response } = inner
		return this.#error(error, inner.message + hint, inner.code, { request, response, cause: inner })
	}

	/** Returns the error to throw after the caller has cancelled. */
	cancelled(error: unknown): unknown {
		const config = this.#config
		const cancelled = config.cancelToken?.reason ?? Object.assign(new this.#axios.CanceledError(), { config })
		copyRecord(error, cancelled)
		return cancelled
	}

	#error(
		recorded: unknown,
		message: string,
		code: string | undefined,
		about: { readonly request?: unknown; readonly response?: Result | undefined; readonly cause?: unknown },
	): Error {
		const { request, response, cause } = about
		const error = new this.#axios.AxiosError(message, code, this.#config, request, response)
		// Not enumerable, like the cause of any error.
		if (cause !== undefined)
			Object.defineProperty(error, 'cause', { value: cause, configurable: true, writable: true })
		copyRecord(recorded, error)
		return error
	}
}
