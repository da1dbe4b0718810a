import axios, { type AxiosInstance } from 'axios'
import { describe, expect, test, vi } from 'vitest'
import { explain } from 'yaoki'
import { axiosAdapter } from '../../../../src/http/adapters/axios/axios-adapter.ts'
import { answer, drip } from '../../faults/fault-server.ts'
import { axiosFailure, setup } from './setup.ts'

const busy = answer({ status: 503, body: 'busy' })
const fine = answer({ headers: { 'content-type': 'application/json' }, body: '{"id":7}' })

describe('the response', () => {
	test("is checked by the caller's validateStatus", async () => {
		const { api } = await setup(answer({ status: 404, body: 'none' }))
		await expect(api.get('/', { validateStatus: () => true })).resolves.toMatchObject({ status: 404 })
		await expect(api.get('/', { validateStatus: null })).resolves.toMatchObject({ data: 'none' })
		const error = await axiosFailure(api.get('/'))
		expect(error).toMatchObject({
			name: 'AxiosError',
			code: 'ERR_BAD_REQUEST',
			message: 'Request failed with status code 404',
			response: { status: 404, data: 'none' },
		})
		expect(explain(error)?.stop).toBe('permanent')
	})

	test('the response that is rejected has its status in the error', async () => {
		const { api } = await setup(answer({ status: 404 }))
		expect(await axiosFailure(api.get('/'))).toMatchObject({ status: 404 })
	})

	test('is an error if validateStatus rejects a 204', async () => {
		const { api, server } = await setup(answer({ status: 204 }))
		const error = await axiosFailure(api.get('/', { validateStatus: (status) => status === 200 }))
		expect(error).toMatchObject({ response: { status: 204 }, code: 'ERR_BAD_RESPONSE' })
		expect(server.requests).toHaveLength(1)
	})

	test('is the same as without the adapter, for an error and for a success', async () => {
		const { api, server } = await setup(
			{ '/fine': fine, '/none': answer({ status: 404, body: '{"why":"none"}' }) },
			{ deadlineHeader: false },
		)
		const plain = axios.create({ baseURL: server.origin })
		const show = async (instance: AxiosInstance, path: string) => {
			const { status, statusText, data, config, headers } = await instance
				.get(path)
				.catch(({ response }) => response)
			const { adapter: _, headers: sent, ...others } = config
			return { status, statusText, data, others, type: headers.get('content-type'), accept: sent.Accept }
		}
		expect(await show(api, '/fine')).toEqual(await show(plain, '/fine'))
		expect(await show(api, '/none')).toEqual(await show(plain, '/none'))
		const [first, second] = server.requests
		expect(first?.headers).toEqual(second?.headers)
	})

	test('passes each interceptor and transform once, however many attempts were made', async () => {
		const { api, server } = await setup([busy, busy, fine])
		const onRequest = vi.fn((config) => config)
		const onResponse = vi.fn((response) => response)
		api.interceptors.request.use(onRequest)
		api.interceptors.response.use(onResponse)
		const transformRequest = vi.fn((data) => JSON.stringify(data))
		const transformResponse = vi.fn((data) => JSON.parse(data))
		const response = await api.put('/', { id: 7 }, { transformRequest, transformResponse })
		expect(response.data).toEqual({ id: 7 })
		expect(server.requests.map(({ body }) => body)).toEqual(['{"id":7}', '{"id":7}', '{"id":7}'])
		for (const called of [onRequest, onResponse, transformRequest, transformResponse])
			expect(called).toHaveBeenCalledOnce()
	})

	test('can be requested again with the config of its error', async () => {
		const { api, server } = await setup([answer({ status: 401 }), fine])
		api.interceptors.response.use(undefined, (error) => api.request(error.config))
		expect((await api.get('/users/7', { params: { a: 1 } })).data).toEqual({ id: 7 })
		expect(server.requests.map(({ path }) => path)).toEqual(['/users/7?a=1', '/users/7?a=1'])
	})
})

describe.each(['http', 'fetch'])('a stream over %s', (adapter) => {
	async function textOf(data: AsyncIterable<Uint8Array>): Promise<string> {
		const chunks: Uint8Array[] = []
		for await (const chunk of data) chunks.push(chunk)
		return Buffer.concat(chunks).toString()
	}

	test('is returned with the head and has no timeout afterwards', async () => {
		const { api, clock } = await setup([busy, fine], { adapter, timeout: 1_000 })
		const { data } = await api.get('/', { responseType: 'stream' })
		expect(clock.pendingTimers).toBe(0)
		expect(await textOf(data)).toBe('{"id":7}')
	})

	test('a stream of a discarded response is cancelled, and its connection is closed', async () => {
		const { api, server } = await setup([drip({ status: 503 }), fine], { adapter })
		const { data } = await api.get('/', { responseType: 'stream' })
		expect(await textOf(data)).toBe('{"id":7}')
		await server.aborted(1)
	})

	test('a stream of a failed status can be read', async () => {
		const { api } = await setup(answer({ status: 404, body: 'none' }), { adapter })
		const { response } = await axiosFailure(api.get('/', { responseType: 'stream' }))
		expect(await textOf(response?.data as AsyncIterable<Uint8Array>)).toBe('none')
	})
})

describe('the adapter', () => {
	test('accepts the axios module and rejects anything else, and unknown options', () => {
		expect(() => axiosAdapter(Object(axios.create()))).toThrow(
			'Invalid argument "axios": expected the axios module',
		)
		expect(() => axiosAdapter(axios, { adapter: 'carrier pigeon' })).toThrow(
			'Invalid option "adapter": expected an adapter, or the name of one',
		)
		expect(() => axiosAdapter(axios, Object({ retries: 3 }))).toThrow(
			'Unknown option "retries" for axiosAdapter.',
		)
	})

	test('can be the default adapter of axios without calling itself', async () => {
		const { server } = await setup(fine)
		const { adapter = 'http' } = axios.defaults
		try {
			axios.defaults.adapter = axiosAdapter(axios)
			expect((await axios.get(server.url('/'))).data).toEqual({ id: 7 })
		} finally {
			axios.defaults.adapter = adapter
		}
	})

	test('uses the URL of the request, whatever the current defaults of axios are', async () => {
		const { api, server } = await setup(fine, { axiosDefaults: { baseURL: '' } })
		const { baseURL } = axios.defaults
		try {
			axios.defaults.baseURL = 'http://other.test'
			const { config } = await api.get(server.url('/'))
			expect(config.url).toBe(server.url('/'))
			await expect(api.get('/nowhere')).rejects.toThrow("Invalid URL '/nowhere'")
		} finally {
			if (baseURL === undefined) delete axios.defaults.baseURL
			else axios.defaults.baseURL = baseURL
		}
	})

	test("can send with a user's adapter, with headers in any form", async () => {
		const adapter = vi
			.fn()
			.mockResolvedValueOnce({ status: 503, statusText: '', headers: { 'Retry-After': ['2'] }, data: null })
			.mockResolvedValue({ status: 200, statusText: 'OK', data: 'mine' })
		const { api, waits } = await setup(fine, { adapter })
		expect((await api.get('/')).data).toBe('mine')
		expect(waits[0]).toBeGreaterThanOrEqual(2_000)
	})
})
