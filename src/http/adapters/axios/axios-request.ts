/**
 * A request of axios as the engine sends it: each attempt is the caller's config again, with what is the attempt's own in the places of
 * the signal, the headers and the time. The config itself is never changed, for axios' adapters write into what they are given.
 */
import { permanent } from '../../../core/classify/permanent.ts'
import type { PreparedRequest } from '../../request/http-call.ts'
import type { TransportInit } from '../../transport/transport.ts'
import {
	type Adapter,
	type AxiosConfig,
	type AxiosResponse,
	isAxiosFailure,
	type UrlBuilder,
} from './axios-module.ts'
import { AxiosResponseView } from './axios-response.ts'

/** Where the request goes, without its params: what matters is the origin. */
export function addressOf(
	{ url, baseURL, allowAbsoluteUrls, socketPath }: AxiosConfig,
	addresses: UrlBuilder,
): string {
	// Each socket is a service of its own, whatever host the request names.
	if (socketPath) return `http://${socketPath.replace(/[^a-z\d]+/gi, '-')}.unix/`
	return addresses.getUri({ url, baseURL, allowAbsoluteUrls })
}

export function prepareAxiosRequest<Config extends AxiosConfig, Answer extends AxiosResponse>(
	config: Config,
	url: string,
	adapter: Adapter<Config, Answer>,
): PreparedRequest {
	const headers = textsOf(config.headers.toJSON(true))
	const { data } = config
	return {
		url,
		method: (config.method ?? 'get').toUpperCase(),
		headers,
		// It stays in the config.
		body: undefined,
		init: undefined,
		isSingleUse: isStream(data),
		async send(_, sent) {
			try {
				const answer = await adapter(
					copyOf(config, {
						headers: withExtra(config.headers, headers, sent),
						data: typeof data === 'function' ? await data() : data,
						signal: sent.signal,
						timeout: 0,
						validateStatus: acceptAll,
					}),
				)
				answer.config = config
				return new AxiosResponseView(answer, url)
			} catch (error) {
				throw sent.signal.aborted ? sent.signal.reason : own(error, config)
			}
		},
	}
}

/** Headers as a table of texts, which they are already; the types of axios do not say so. */
function textsOf(headers: object): Record<string, string> {
	const table: Record<string, string> = {}
	for (const [name, value] of Object.entries(headers)) table[name] = String(value)
	return table
}

/** The engine decides what a status means, and needs to see them all. */
const acceptAll = (): boolean => true

/** axios makes its configs without a prototype, so that nothing can be slipped into them; so is the copy. */
function copyOf<Config extends AxiosConfig>(config: Config, changes: Partial<AxiosConfig>): Config {
	return Object.assign(Object.create(Object.getPrototypeOf(config)), config, changes)
}

function withExtra(
	given: AxiosConfig['headers'],
	written: Readonly<Record<string, string>>,
	sent: TransportInit,
): AxiosConfig['headers'] {
	const headers = given.concat()
	for (const [name, value] of Object.entries(sent.headers ?? {}))
		if (!Object.hasOwn(written, name)) headers.set(name, value, true)
	return headers
}

/** A stream of Node or of the web, or a form of the form-data package: gone when it was sent. */
function isStream(data: unknown): boolean {
	if (typeof data !== 'object' || data === null) return false
	return 'pipe' in data || 'getReader' in data || Symbol.asyncIterator in data
}

/** Codes of what axios itself refuses. */
const REFUSED = /^ERR_(BAD_REQUEST|NOT_SUPPORT|FORM_DATA_DEPTH_EXCEEDED)$/

/** The error of an attempt, about the caller's config: code around axios sends that again. */
function own<Config extends AxiosConfig>(error: unknown, config: Config): unknown {
	if (!isAxiosFailure<Config, AxiosResponse>(error)) return error
	error.config = config
	if (error.response) error.response.config = config
	// The network had no part in it: the same request would be refused again.
	const isRefused = REFUSED.test(error.code ?? '') || error.message.startsWith('maxContentLength')
	return isRefused ? permanent(error) : error
}
