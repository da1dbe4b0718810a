/**
 * An adapter is the one place in axios that is called once for each request, after all interceptors and transforms of the request and
 * before those of the response. So attempts are made in here: an interceptor that sends the request again would run all of them
 * again, and transform data twice. Each attempt is one call of the adapter that axios would have taken itself.
 */

import { HttpEngine } from '../../client/http-engine.ts'
import {
	DEFAULT_TOTAL_FACTOR,
	HTTP_RULES,
	type HttpOptions,
	readHttpOptions,
} from '../../options/http-options.ts'
import { refuse } from '../../options/option-path.ts'
import { type RequestOptions, readRequestOptions } from '../../options/request-options.ts'
import { HttpStatusError } from '../../request/status-error.ts'
import type { Adapter, AdapterChoice, AxiosConfig, AxiosModule, AxiosResponse } from './axios-module.ts'
import { addressOf, prepareAxiosRequest } from './axios-request.ts'
import type { AxiosResponseView } from './axios-response.ts'
import { AxiosResult } from './axios-result.ts'
import { cancellationOf } from './cancellation.ts'

/** What `axiosAdapter` takes. */
export interface AxiosAdapterOptions extends HttpOptions {
	/** What sends the requests: a name that axios knows, an adapter, or several to choose from. Default: what axios would take. */
	readonly adapter?: AdapterChoice | undefined
}

const RULES = { ...HTTP_RULES, adapter: 'any' } as const

/**
 * An adapter for axios: requests that may be repeated are repeated, origins that fail are left alone for a while, and everything else
 * is as axios does it. A `timeout` of axios, where it is set, is that of each attempt; the whole then has three times as long, unless
 * `totalTimeoutMs` is given. One request's own settings are under `yaoki` in its config. Hooks such as `shouldRetry` are given
 * an HttpStatusError for a status of 400 and more, and axios' own error otherwise.
 *
 * @example
 * import axios from 'axios'
 *
 * const api = axios.create({ baseURL: 'https://api.example.com', adapter: axiosAdapter(axios, { maxRetries: 3 }) })
 * const { data } = await api.get('/users/7')
 */
export function axiosAdapter<Config extends AxiosConfig, Answer extends AxiosResponse>(
	axios: AxiosModule<Config, Answer>,
	options: AxiosAdapterOptions = {},
): Adapter<Config, Answer> {
	if (typeof axios?.getAdapter !== 'function' || !axios.defaults)
		refuse('axiosAdapter(axios)', axios, "axios itself, as in import axios from 'axios'")
	const engine = new HttpEngine(readHttpOptions(options, RULES))
	const adapterFor = chosen(axios, options.adapter)
	// One without defaults: what was set on axios itself later on is not part of the config that is sent.
	const addresses = new axios.Axios({})

	return async (config) => {
		const settings = settingsOf(config, engine.settings.maxRetries, options)
		const outgoing = prepareAxiosRequest(config, addressOf(config, addresses), adapterFor(config))
		const outcome = new AxiosResult(axios, config)
		const { signal, release } = cancellationOf(config)
		try {
			// Every attempt answers with one of these.
			const answered = (await engine.send(outgoing, settings, signal)) as AxiosResponseView<Answer>
			return outcome.answer(answered)
		} catch (error) {
			if (signal?.aborted) throw outcome.cancelled(error)
			if (!(error instanceof HttpStatusError)) throw outcome.failure(error)
			return outcome.answer(error.response as AxiosResponseView<Answer>, error)
		} finally {
			release()
		}
	}
}

/** What axios itself would take, asked now: an adapter that is made the default would otherwise end up with itself. */
function chosen<Config, Answer>(
	axios: AxiosModule<Config, Answer>,
	given: AdapterChoice | undefined,
): (config: Config) => Adapter<Config, Answer> {
	const choice = given ?? axios.defaults.adapter
	try {
		axios.getAdapter(choice)
	} catch {
		refuse(
			'adapter',
			given,
			"a name that axios has an adapter for here, such as 'http' or 'fetch', or an adapter",
		)
	}
	return (config) => axios.getAdapter(choice, config)
}

/** A timeout of axios is that of an attempt. The whole would otherwise be over before an attempt that is given more than usual. */
function settingsOf(config: AxiosConfig, mostRetries: number, options: HttpOptions): RequestOptions {
	const given = readRequestOptions(config.yaoki, mostRetries)
	if (!config.timeout || given.timeout !== undefined) return given
	// axios takes a text as well.
	const timeout = Number(config.timeout)
	if (!(timeout > 0)) refuse('timeout', config.timeout, 'a number of milliseconds, or 0 for as usual')
	const totalTimeoutMs = given.totalTimeoutMs ?? options.totalTimeoutMs ?? DEFAULT_TOTAL_FACTOR * timeout
	return { ...given, timeout, totalTimeoutMs }
}
