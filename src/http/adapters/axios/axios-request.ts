/**
 * Prepares an axios request for the engine. Each attempt sends a copy of the caller's config with the
 * attempt's own signal, headers and timeout. The config itself is not changed, because axios' adapters write
 * to the config they receive.
 */
import { permanent } from '../../../core/classify/permanent.ts'
import { copyRecord } from '../../../core/explain/record.ts'
import { isOriginBound } from '../../headers/request-headers.ts'
import { originOf } from '../../origin/origin-parser.ts'
import { type RedirectObserver, redirectObserverOf } from '../../transport/redirect.ts'
import { isIdempotentMethod, type PreparedRequest, type TransportInit } from '../../transport/request.ts'
import {
	type Adapter,
	type AxiosConfig,
	type AxiosResponse,
	isAxiosFailure,
	type RedirectOptions,
	type UrlBuilder,
} from './axios-module.ts'
import { AxiosResponseView } from './axios-response.ts'

/** Returns the URL without the params: only its origin matters. */
export function urlOf(
	{ url, baseURL, allowAbsoluteUrls, socketPath }: AxiosConfig,
	urls: UrlBuilder,
): string {
	// Each socket is a service of its own, whatever host the request names.
	if (socketPath) return `http://${socketPath.replace(/[^a-z\d]+/gi, '-')}.unix/`
	return withoutCredentials(urls.getUri({ url, baseURL, allowAbsoluteUrls }))
}

/** axios itself sends the credentials of a URL. */
function withoutCredentials(url: string): string {
	if (!url.includes('@') || !URL.canParse(url)) return url
	const parsed = new URL(url)
	parsed.username = ''
	parsed.password = ''
	return parsed.href
}

export function prepareAxiosRequest<Config extends AxiosConfig, Result extends AxiosResponse>(
	config: Config,
	url: string,
	adapter: Adapter<Config, Result>,
): PreparedRequest {
	// All values are strings already, though the types of axios do not say so.
	const headers = Object.fromEntries(
		Object.entries(config.headers.toJSON(true)).map(([name, value]) => [name, String(value)]),
	)
	const { data } = config
	return {
		url,
		method: (config.method ?? 'get').toUpperCase(),
		headers,
		// The body stays in the config.
		body: undefined,
		init: undefined,
		isSingleUse: isStream(data),
		ownBody: isStream(data) ? data : undefined,
		async send(_, sent) {
			let rejection: unknown
			const onRejection = (error: unknown) => {
				rejection = error
			}
			try {
				const result = await adapter(
					copyConfig(config, {
						headers: addMissing(config.headers, headers, sent),
						data: typeof data === 'function' ? await data() : data,
						signal: sent.signal,
						timeout: 0,
						beforeRedirect: redirectHook(config, url, redirectObserverOf(sent), onRejection),
						// The engine classifies every status.
						validateStatus: () => true,
					}),
				)
				result.config = config
				const view = new AxiosResponseView(result, url)
				// The adapter may be a resilient one with its own retries.
				if (result.status >= 400) copyRecord(result, view)
				return view
			} catch (error) {
				if (sent.signal.aborted) throw sent.signal.reason
				// axios hides what a redirect was not followed for.
				throw rejection ?? withCallerConfig(error, config)
			}
		},
	}
}

/** Returns a hook that drops what must not reach another origin, before the caller's own hook. */
function redirectHook(
	config: AxiosConfig,
	url: string,
	observer: RedirectObserver | undefined,
	onRejection: (error: unknown) => void,
): (options: RedirectOptions, ...details: unknown[]) => void {
	return (options, ...details) => {
		const target = typeof options.href === 'string' ? options.href : undefined
		const { headers = {}, method } = options
		const isCrossOrigin = target === undefined || originOf(target) !== originOf(url)
		try {
			void observer?.onRedirect(target, isCrossOrigin && !isIdempotentMethod(String(method)))
		} catch (error) {
			onRejection(error)
			throw error
		}
		if (isCrossOrigin)
			for (const name of Object.keys(headers))
				if (isOriginBound(name.toLowerCase(), observer?.idempotencyHeader))
					Reflect.deleteProperty(headers, name)
		config.beforeRedirect?.(options, ...details)
	}
}

/** Keeps the prototype: axios creates configs without one, to prevent prototype pollution. */
function copyConfig<Config extends AxiosConfig>(config: Config, changes: Partial<AxiosConfig>): Config {
	return Object.assign(Object.create(Object.getPrototypeOf(config)), config, changes)
}

function addMissing(
	given: AxiosConfig['headers'],
	existing: Readonly<Record<string, string>>,
	sent: TransportInit,
): AxiosConfig['headers'] {
	const headers = given.concat()
	for (const [name, value] of Object.entries(sent.headers ?? {}))
		if (!Object.hasOwn(existing, name)) headers.set(name, value, true)
	return headers
}

/** Returns true for Node streams, web streams and forms of the form-data package: they can be sent once. */
function isStream(data: unknown): boolean {
	if (typeof data !== 'object' || data === null) return false
	return 'pipe' in data || 'getReader' in data || Symbol.asyncIterator in data
}

/** Codes of requests that axios itself rejects. */
const REJECTED_BY_AXIOS = /^ERR_(BAD_REQUEST|NOT_SUPPORT|FORM_DATA_DEPTH_EXCEEDED)$/

/** Puts the caller's config into the error of an attempt: code around axios sends that config again. */
function withCallerConfig<Config extends AxiosConfig>(error: unknown, config: Config): unknown {
	if (!isAxiosFailure<Config, AxiosResponse>(error)) return error
	error.config = config
	if (error.response) error.response.config = config
	// Permanent, because axios would reject the same request again.
	return REJECTED_BY_AXIOS.test(error.code ?? '') ? permanent(error) : error
}

/**
 * Returns the caller's cancellation as one signal: a signal, a polyfill of one, or an axios cancel token.
 * During a request axios' adapter handles them itself; this signal is for the waits between attempts.
 * `release` removes the listeners.
 */
export function linkCancellation({ signal, cancelToken }: AxiosConfig): {
	readonly signal: AbortSignal | undefined
	release(): void
} {
	const real = signal instanceof AbortSignal ? signal : undefined
	const polyfill = real ? undefined : signal
	if (!cancelToken && !polyfill) return { signal: real, release: () => {} }
	const controller = new AbortController()
	const cancel = (reason?: unknown) => controller.abort(reason)
	const abort = () => cancel()
	cancelToken?.subscribe?.(cancel)
	polyfill?.addEventListener?.('abort', abort)
	return {
		// A real signal stays linked to a stream that the caller reads; axios' adapter links the token to it.
		signal: real ? AbortSignal.any([real, controller.signal]) : controller.signal,
		release() {
			cancelToken?.unsubscribe?.(cancel)
			polyfill?.removeEventListener?.('abort', abort)
		},
	}
}
