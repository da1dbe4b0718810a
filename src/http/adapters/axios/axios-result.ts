/**
 * How a request ends for who uses axios. What code around axios looks at stays what it was: the response with the caller's own
 * config, `validateStatus`, an AxiosError with its codes, a CanceledError. Only what axios has no word for, the refusals of
 * the toolkit, is thrown as it is.
 */
import { TimeoutError } from '../../../core/errors/errors.ts'
import { attachRecord, findRecord } from '../../../core/explain/record.ts'
import type { HttpStatusError } from '../../request/status-error.ts'
import { BODY_NOT_REPLAYABLE } from '../../transport/request-body.ts'
import { type AxiosConfig, type AxiosModule, type AxiosResponse, isAxiosFailure } from './axios-module.ts'
import type { AxiosResponseView } from './axios-response.ts'

const DATA_SENT_ONCE = 'not retried, for data is a stream and was sent already; give data: () => a new stream'

export class AxiosResult<Config extends AxiosConfig, Answer extends AxiosResponse> {
	readonly #axios: AxiosModule<Config, Answer>
	readonly #config: Config

	constructor(axios: AxiosModule<Config, Answer>, config: Config) {
		this.#axios = axios
		this.#config = config
	}

	/** The response; throws, as axios does, when the caller does not accept its status. `refused` is what the engine said of it. */
	answer(answered: AxiosResponseView<Answer>, refused?: HttpStatusError): Answer {
		const { answer } = answered
		const { validateStatus } = this.#config
		const { status } = answer
		passOn(answered, answer)
		if (!status || !validateStatus || validateStatus(status)) return answer
		const error = this.#error(
			answered,
			`Request failed with status code ${status}`,
			status >= 400 && status < 500 ? 'ERR_BAD_REQUEST' : 'ERR_BAD_RESPONSE',
			{ request: answer.request, response: answer },
		)
		// Whoever repeats it, or tells a user when to come back, wants to know.
		throw refused?.retryAfterMs === undefined
			? error
			: Object.assign(error, { retryAfterMs: refused.retryAfterMs })
	}

	/** What to throw for what the engine threw. */
	failure(error: unknown): unknown {
		const isOnce = isSentOnce(error)
		// The toolkit's own errors say it themselves; one of the network is the cause of one that does.
		const inner = isOnce && error instanceof TypeError ? error.cause : error
		const why = isOnce ? ` (${DATA_SENT_ONCE})` : ''
		if (inner instanceof TimeoutError) {
			const { timeoutErrorMessage, transitional } = this.#config
			const message = timeoutErrorMessage || `timeout of ${inner.timeoutMs}ms exceeded`
			const code = transitional?.clarifyTimeoutError ? 'ETIMEDOUT' : 'ECONNABORTED'
			return this.#error(error, message + why, code, { cause: inner })
		}
		if (!why || !isAxiosFailure<Config, Answer>(inner)) return error
		return this.#error(error, inner.message + why, inner.code, {
			request: inner.request,
			response: inner.response,
			cause: inner,
		})
	}

	/** What to throw once the caller has cancelled. */
	cancelled(error: unknown): unknown {
		const config = this.#config
		const cancelled = config.cancelToken?.reason ?? Object.assign(new this.#axios.CanceledError(), { config })
		passOn(error, cancelled)
		return cancelled
	}

	#error(
		told: unknown,
		message: string,
		code: string | undefined,
		about: { readonly request?: unknown; readonly response?: Answer | undefined; readonly cause?: unknown },
	): Error {
		const { request, response, cause } = about
		const error = new this.#axios.AxiosError(message, code, this.#config, request, response)
		// As of every error, it is not among what a logger walks through.
		if (cause !== undefined)
			Object.defineProperty(error, 'cause', { value: cause, configurable: true, writable: true })
		passOn(told, error)
		return error
	}
}

/** `explain` finds the same by what the caller holds in the end. */
function passOn(from: unknown, to: unknown): void {
	const record = findRecord(from)
	if (record) attachRecord(to, record)
}

const isSentOnce = (error: unknown): boolean =>
	error instanceof Error && error.message.endsWith(`(${BODY_NOT_REPLAYABLE})`)
