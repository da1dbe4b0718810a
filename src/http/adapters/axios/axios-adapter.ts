/**
 * An axios adapter is called once per request, after all request interceptors and transforms and before those
 * of the response. So attempts are made here: an interceptor that sends the request again would run the
 * interceptors again and transform data twice. Each attempt calls the adapter that axios would have used.
 */
import { invalidArgument, invalidOption } from '../../../core/options/schema.ts'
import { HttpEngine } from '../../client/http-engine.ts'
import { HTTP_SCHEMA, type HttpOptions, readHttpOptions } from '../../options/http-options.ts'
import { type RequestOptions, readRequestOptions } from '../../options/request-options.ts'
import { HttpStatusError } from '../../request/status-error.ts'
import type { Adapter, AdapterChoice, AxiosConfig, AxiosModule, AxiosResponse } from './axios-module.ts'
import { linkCancellation, prepareAxiosRequest, urlOf } from './axios-request.ts'
import type { AxiosResponseView } from './axios-response.ts'
import { AxiosResult } from './axios-result.ts'

/** Options of `axiosAdapter`. */
export interface AxiosAdapterOptions extends HttpOptions {
	/**
	 * Sends the requests: the name of an axios adapter, an adapter, or a list to choose from. Default: the one
	 * that axios would use.
	 */
	readonly adapter?: AdapterChoice | undefined
}

const SCHEMA = { ...HTTP_SCHEMA, adapter: 'any' } as const

/**
 * Creates an axios adapter with retries, a circuit breaker per origin, Retry-After support and timeouts;
 * everything else behaves as in axios. The `timeout` of axios applies to each attempt; the total timeout is
 * then enough for all attempts, unless `totalTimeoutMs` is set. Options of one request are under `yaoki` in
 * its config. Hooks such as `shouldRetry` receive an `HttpError` for a status of 400 or more, and otherwise
 * axios' own error.
 *
 * @example
 * import axios from 'axios'
 *
 * const api = axios.create({ baseURL: 'https://api.example.com', adapter: axiosAdapter(axios) })
 * const { data } = await api.get('/users/7')
 */
export function axiosAdapter<Config extends AxiosConfig, Result extends AxiosResponse>(
	axios: AxiosModule<Config, Result>,
	options: AxiosAdapterOptions = {},
): Adapter<Config, Result> {
	if (typeof axios?.getAdapter !== 'function' || !axios.defaults)
		invalidArgument('axios', axios, "the axios module (import axios from 'axios')")
	const engine = new HttpEngine(readHttpOptions(options, SCHEMA, 'axiosAdapter'))
	const adapterFor = selectAdapter(axios, options.adapter)
	// It has no defaults: defaults set on axios later are not part of the config that is sent.
	const urls = new axios.Axios({})

	return async (config) => {
		const requestOptions = readOptionsOf(config, engine.settings.maxRetries)
		const request = prepareAxiosRequest(config, urlOf(config, urls), adapterFor(config))
		const result = new AxiosResult(axios, config)
		const { signal, release } = linkCancellation(config)
		try {
			// Every attempt returns this class.
			const view = (await engine.send(request, requestOptions, signal)) as AxiosResponseView<Result>
			return result.response(view)
		} catch (error) {
			if (signal?.aborted) throw result.cancelled(error)
			if (!(error instanceof HttpStatusError)) throw result.failure(error)
			const { response: view }: { readonly response: unknown } = error
			return result.response(view as AxiosResponseView<Result>, error)
		} finally {
			release()
		}
	}
}

/** Reads axios' default adapter now: this adapter may become the default itself later. */
function selectAdapter<Config, Result>(
	axios: AxiosModule<Config, Result>,
	given: AdapterChoice | undefined,
): (config: Config) => Adapter<Config, Result> {
	const choice = given ?? axios.defaults.adapter
	try {
		axios.getAdapter(choice)
	} catch {
		invalidOption(
			'adapter',
			given,
			"an adapter, or the name of one that is available here, such as 'http' or 'fetch'",
		)
	}
	return (config) => axios.getAdapter(choice, config)
}

/** The timeout of axios applies to each attempt. */
function readOptionsOf(config: AxiosConfig, maxRetries: number): RequestOptions {
	const given = readRequestOptions(config.yaoki, maxRetries)
	if (!config.timeout || given.timeout !== undefined) return given
	// axios also accepts a string.
	const timeout = Number(config.timeout)
	if (!(timeout > 0))
		invalidOption('timeout', config.timeout, 'a number of milliseconds, or 0 for the default')
	return { ...given, timeout }
}
