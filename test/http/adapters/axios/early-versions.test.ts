/**
 * The types of axios 1.7 declare less than later ones. This is a summary of them; that the adapter accepts it is checked
 * by the compiler, and the test itself sends a request through it.
 */
import { expect, test } from 'vitest'
import { axiosAdapter } from '../../../../src/http/adapters/axios/axios-adapter.ts'

declare class EarlyHeaders {
	concat(...targets: string[]): EarlyHeaders
	set(name?: string, value?: unknown, rewrite?: boolean): EarlyHeaders
	toJSON(asStrings?: boolean): Record<string, string | string[] | number | boolean | null>
}

interface EarlyConfig {
	url?: string
	method?: string
	headers: EarlyHeaders
	timeout?: number
	// Neither `subscribe` nor `unsubscribe`.
	cancelToken?: { promise: Promise<{ message?: string }>; reason?: { message?: string } }
}

interface EarlyAnswer {
	data: unknown
	status: number
	statusText: string
	headers: object
	config: EarlyConfig
	request?: unknown
}

declare class EarlyError extends Error {
	constructor(
		message?: string,
		code?: string,
		config?: EarlyConfig,
		request?: unknown,
		response?: EarlyAnswer,
	)
}

type EarlyAdapter = (config: EarlyConfig) => Promise<EarlyAnswer>

/** An axios with the types of early versions. */
interface EarlyAxios {
	defaults: { adapter?: string | EarlyAdapter | (string | EarlyAdapter)[] }
	Axios: new (config?: object) => { getUri(config?: object): string }
	AxiosError: typeof EarlyError
	// Its second parameter is a config, but its types declare that of an AxiosError.
	CanceledError: typeof EarlyError
	getAdapter(choice: unknown, config?: EarlyConfig): EarlyAdapter
}

class Headers170 {
	readonly #table: Record<string, string> = { accept: '*/*' }
	concat(): Headers170 {
		const copy = new Headers170()
		Object.assign(copy.#table, this.#table)
		return copy
	}
	set(name = '', value: unknown = ''): this {
		this.#table[name] = String(value)
		return this
	}
	toJSON(): Record<string, string> {
		return { ...this.#table }
	}
}

/** Sends requests through an early axios with this adapter. */
const through = (send: EarlyAdapter): EarlyAdapter => {
	const axios: EarlyAxios = {
		defaults: { adapter: send },
		Axios: class {
			getUri(config?: EarlyConfig): string {
				return String(config?.url)
			}
		},
		AxiosError: Error,
		CanceledError: Error,
		getAdapter: () => send,
	}
	return axiosAdapter(axios, { baseDelayMs: 0 })
}

const configOf = (): EarlyConfig => ({
	url: 'https://api.example.com/x',
	headers: new Headers170(),
	cancelToken: { promise: new Promise<never>(() => {}) },
})

test('an early axios version with looser types is accepted, and its requests are retried', async () => {
	let sent = 0
	const adapter = through(async (config) => ({
		data: Object.keys(config.headers.toJSON()),
		status: ++sent === 1 ? 503 : 200,
		statusText: '',
		headers: {},
		config,
	}))
	const config = configOf()
	expect(await adapter(config)).toMatchObject({ status: 200, config })
	expect(sent).toBe(2)
})

test.each([
	['a connection that is lost in the body, reported as a size limit of -1, is retried', -1, 2],
	['a response above a size limit is not retried', 3, 1],
])('%s', async (_, limit, requests) => {
	// Regression: axios 1.7 has one message for both, and the lost connection was permanent.
	let sent = 0
	const adapter = through(async (config) => {
		if (++sent > 1) return { data: '', status: 200, statusText: '', headers: {}, config }
		const error = new Error(`maxContentLength size of ${limit} exceeded`)
		throw Object.assign(error, { isAxiosError: true, code: 'ERR_BAD_RESPONSE', config })
	})
	await adapter(configOf()).catch(() => {})
	expect(sent).toBe(requests)
})
