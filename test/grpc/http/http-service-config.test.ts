import axios from 'axios'
import * as undici from 'undici'
import { describe, expect, onTestFinished, test } from 'vitest'
import { InvalidOptionError, lint } from 'yaoki'
import { parseServiceConfig, type ServiceConfig } from 'yaoki/grpc'
import { axiosAdapter, ResilientHttpClient, resilientFetch, undiciInterceptor } from 'yaoki/http'
import { httpServiceConfig } from '../../../src/grpc/http/http-service-config.ts'
import { serve, virtualTime } from '../../http/client/setting.ts'
import { configured, failing, fine, forAll, RETRY } from './configured.ts'

const config = parseServiceConfig(forAll({ retryPolicy: RETRY }))

function errorOf(create: () => unknown): InvalidOptionError {
	try {
		create()
	} catch (error) {
		if (error instanceof InvalidOptionError) return error
		throw error
	}
	throw new Error('it is valid')
}

describe('httpServiceConfig', () => {
	test('accepts origins in any spelling, and lists them', () => {
		const { origins } = httpServiceConfig({
			'HTTPS://API.example.com:443/': config,
			'http://127.0.0.1:8080': config,
		})
		expect(origins).toEqual(['https://api.example.com', 'http://127.0.0.1:8080'])
		expect(httpServiceConfig({}).origins).toEqual([])
	})

	test.each([
		'api.example.com',
		'https://api.example.com/v1',
		'https://api.example.com?x=1',
		'https://user:secret@api.example.com',
		'ftp://api.example.com',
		'file:///',
		'',
		'*',
	])('rejects %j, which is not an origin', (key) => {
		const error = errorOf(() => httpServiceConfig({ [key]: config }))
		expect([error.optionPath, error.received]).toEqual([`configs["${key}"]`, key])
		expect(error.expected).toBe('an origin without a path, such as "https://api.example.com"')
	})

	test('rejects an origin that is given twice', () => {
		const error = errorOf(() =>
			httpServiceConfig({ 'https://a.example': config, 'https://A.example:443': config }),
		)
		expect(error.expected).toBe('each origin once')
	})

	test.each([undefined, null, {}, '{}', { methodConfig: [] }])(
		'rejects %j in place of a ServiceConfig',
		(value) => {
			const error = errorOf(() => httpServiceConfig({ 'https://a.example': value as ServiceConfig }))
			expect(error.optionPath).toBe('configs["https://a.example"]')
			expect(error.expected).toBe('a ServiceConfig, which parseServiceConfig(...) returns')
		},
	)

	test.each([undefined, null, 'x', [config]])('rejects %j in place of an object', (value) => {
		expect(errorOf(() => httpServiceConfig(value as never)).optionPath).toBe('configs')
	})

	test.each(['/v1/orders', 'v1/orders/'])('rejects the service %j, which would match no path', (service) => {
		const wrong = parseServiceConfig({ methodConfig: [{ name: [{ service }] }] })
		const error = errorOf(() => httpServiceConfig({ 'https://a.example': wrong }))
		expect([error.optionPath, error.received]).toEqual(['configs["https://a.example"]', service])
	})
})

test.each([config, {}, 'x', null, true])('the option serviceConfig rejects other values', (value) => {
	const serviceConfig = value as never
	for (const create of [
		() => resilientFetch({ serviceConfig }),
		() => new ResilientHttpClient({ serviceConfig }),
	])
		expect(errorOf(create)).toMatchObject({
			optionPath: 'serviceConfig',
			expected: 'a result of httpServiceConfig(...) of yaoki/grpc',
		})
})

describe('every client uses the service config', () => {
	test('a client that extends another', async () => {
		const { client, server } = await configured([failing(503), fine], forAll({ retryPolicy: RETRY }))
		const extended = client.extend({ headers: { 'x-user': '7' }, totalTimeoutMs: 5_000 })
		expect(await extended.post('/a/b', { body: 'x' }).text()).toBe('fine')
		expect(server.requests).toHaveLength(2)
	})

	test('the adapter for axios', async () => {
		const server = await serve([failing(503), fine])
		const serviceConfig = httpServiceConfig({ [server.origin]: config })
		const { runtime } = virtualTime()
		const api = axios.create({ adapter: axiosAdapter(axios, { serviceConfig, runtime }) })
		const { data } = await api.post(server.url('/a/b'), 'x')
		expect(data).toBe('fine')
		expect(server.requests).toHaveLength(2)
	})

	test('the interceptor for undici', async () => {
		const server = await serve([failing(503), fine])
		const serviceConfig = httpServiceConfig({ [server.origin]: config })
		const { runtime } = virtualTime()
		const dispatcher = new undici.Agent().compose(undiciInterceptor({ serviceConfig, runtime }))
		onTestFinished(() => dispatcher.close())
		const { body } = await undici.request(server.url('/a/b'), { method: 'POST', body: 'x', dispatcher })
		expect(await body.text()).toBe('fine')
		expect(server.requests).toHaveLength(2)
	})
})

test('lint accepts a client with a service config', () => {
	const client = new ResilientHttpClient({
		serviceConfig: httpServiceConfig({ 'https://a.example': config }),
	})
	expect(lint(client).findings).toEqual([])
})
