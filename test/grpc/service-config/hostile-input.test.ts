import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { parseServiceConfig } from 'yaoki/grpc'
import { ServiceConfig } from '../../../src/grpc/service-config/service-config.ts'
import { argumentErrorOf, errorOf, RETRY, withMethod } from './configs.ts'

describe('what is not a service config', () => {
	test.each([
		null,
		undefined,
		1,
		true,
		'null',
		'[]',
		'"text"',
		'1',
		[],
		() => ({}),
		Symbol('config'),
		new Map(),
		Promise.resolve({}),
		new Uint8Array(2),
	])('%s is an error', (json) => {
		const error = argumentErrorOf(json)
		expect([error.argument, error.expected]).toEqual(['json', 'a JSON object'])
	})

	test.each([
		'',
		' ',
		'{',
		'{"methodConfig":[}',
		"{'a':1}",
		'{"a":1,}',
		'{"a":NaN}',
		'\uFEFF{}',
		'undefined',
	])('the syntax error %j is reported with the place and the cause', (text) => {
		const error = argumentErrorOf(text)
		expect([error.argument, error.received]).toEqual(['json', text])
		expect(error.expected).toMatch(/^JSON \(.+\)$/)
		expect(error.cause).toBeInstanceOf(SyntaxError)
	})

	test('the error of a long text shows its beginning', () => {
		const error = argumentErrorOf(`{${' '.repeat(1e6)}`)
		expect(String(error.received).length).toBe(83)
		expect(error.message.length).toBeLessThan(400)
	})

	test('an object that JSON cannot represent is an error', () => {
		const cyclic: Record<string, unknown> = {}
		cyclic['loadBalancingConfig'] = [cyclic]
		for (const json of [cyclic, { loadBalancingConfig: 1n }, { toJSON: () => undefined }]) {
			const error = argumentErrorOf(json)
			expect([error.argument, error.expected]).toEqual(['json', 'an object that JSON can represent'])
		}
	})

	test.each([{}, 'x', 1, true, { 0: { name: [] }, length: 1 }])(
		'%j in place of the list methodConfig is an error',
		(methodConfig) => {
			expect(errorOf({ methodConfig }).optionPath).toBe('methodConfig')
		},
	)

	test.each([null, [], 'x', 1])('%j in place of an entry is an error', (entry) => {
		expect(errorOf({ methodConfig: [{ name: [] }, entry] }).optionPath).toBe('methodConfig[1]')
	})
})

describe('valid configs in unusual forms', () => {
	test('an empty config, and one whose fields are null, has no settings', () => {
		for (const json of ['{}', {}, { methodConfig: [] }, { methodConfig: null, retryThrottling: null }]) {
			const config = parseServiceConfig(json)
			expect(config.methodConfigs).toEqual([])
			expect(config.find('a', 'b')).toBe(undefined)
		}
	})

	test('objects without a prototype, and those of another realm, are accepted', () => {
		expect(parseServiceConfig(Object.create(null)).methodConfigs).toEqual([])
		const foreign = runInNewContext('({ methodConfig: [{ name: [{}], timeout: "1s" }] })')
		expect(parseServiceConfig(foreign).find('a', 'b')?.timeoutMs).toBe(1_000)
	})

	test('fields that an object inherits are ignored', () => {
		const inherited = Object.create({ methodConfig: 'not a list', retryThrottling: 1 })
		expect(parseServiceConfig(inherited).methodConfigs).toEqual([])
	})
})

describe('names of the prototype of objects', () => {
	const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf']

	test('are services and methods like others', () => {
		const entries = names.map((name, index) => {
			return `{"name":[{"service":"${name}"},{"service":"s","method":"${name}"}],"timeout":"${index + 1}s"}`
		})
		const config = parseServiceConfig(`{"methodConfig":[${entries}]}`)
		for (const [index, name] of names.entries()) {
			expect(config.find(name, 'any')?.timeoutMs).toBe((index + 1) * 1_000)
			expect(config.find('s', name)?.timeoutMs).toBe((index + 1) * 1_000)
		}
	})

	test('have no settings in a config that does not name them', () => {
		const config = parseServiceConfig({ methodConfig: [{ name: [{ service: 's', method: 'm' }] }] })
		for (const name of names) {
			expect(config.find(name, name)).toBe(undefined)
			expect(config.find('s', name)).toBe(undefined)
		}
	})

	test('__proto__ as a field changes no prototype', () => {
		const text = '{"__proto__":{"methodConfig":1,"polluted":true},"methodConfig":[]}'
		expect(parseServiceConfig(text).methodConfigs).toEqual([])
		expect(({} as { polluted?: boolean }).polluted).toBe(undefined)
		const error = errorOf('{"methodConfig":[{"name":[],"__proto__":{"timeout":"1s"}}]}')
		expect(error.optionPath).toBe('methodConfig[0].__proto__')
	})
})

describe('large and deep configs', () => {
	test('10,000 entries with 2 names each are parsed, and every method is found', () => {
		const methodConfig = Array.from({ length: 10_000 }, (_, entry) => ({
			name: Array.from({ length: 2 }, (_, index) => ({ service: `s${entry}`, method: `m${index}` })),
			timeout: `${entry}s`,
			retryPolicy: RETRY,
		}))
		const config = parseServiceConfig(JSON.stringify({ methodConfig }))
		for (let entry = 0; entry < 10_000; entry += 999)
			expect(config.find(`s${entry}`, 'm1')?.timeoutMs).toBe(entry * 1_000)
		expect(config.find('s10000', 'm0')).toBe(undefined)
		const repeated = { methodConfig: [...methodConfig, { name: [{ service: 's9999', method: 'm1' }] }] }
		expect(errorOf(repeated).optionPath).toBe('methodConfig[10000].name[0]')
	})

	test('deep nesting in a field of the channel is accepted in a text, and an error in an object that is too deep to copy', () => {
		const depth = 100_000
		const text = `{"loadBalancingConfig":${'['.repeat(depth)}${']'.repeat(depth)}}`
		expect(parseServiceConfig(text).methodConfigs).toEqual([])
		expect(argumentErrorOf(JSON.parse(text)).expected).toBe('an object that JSON can represent')
	})

	test('deep nesting in place of a value is an error with the path', () => {
		const depth = 100_000
		const nested = `${'['.repeat(depth)}${']'.repeat(depth)}`
		const error = errorOf(`{"methodConfig":[{"name":[],"timeout":${nested}}]}`)
		expect(error.optionPath).toBe('methodConfig[0].timeout')
	})
})

describe('a parsed config does not change', () => {
	test('it is frozen, with its entries and policies', () => {
		const config = parseServiceConfig({
			...withMethod({ retryPolicy: RETRY }),
			retryThrottling: { maxTokens: 1, tokenRatio: 1 },
		})
		const [entry] = config.methodConfigs
		const parts = [config, config.methodConfigs, entry, entry?.names, entry?.names[0], entry?.config]
		for (const part of [...parts, entry?.config.retryPolicy, config.retryThrottling])
			expect(Object.isFrozen(part)).toBe(true)
	})

	test('later changes of the given object have no effect', () => {
		const json = { methodConfig: [{ name: [{}], timeout: '1s' }], loadBalancingConfig: [{ round_robin: {} }] }
		const config = parseServiceConfig(json)
		json.methodConfig.length = 0
		json.loadBalancingConfig.length = 0
		expect(config.find('a', 'b')?.timeoutMs).toBe(1_000)
		expect(config.json).toEqual({
			methodConfig: [{ name: [{}], timeout: '1s' }],
			loadBalancingConfig: [{ round_robin: {} }],
		})
	})

	test('it is a ServiceConfig', () => {
		expect(parseServiceConfig({})).toBeInstanceOf(ServiceConfig)
	})
})
