import { describe, expect, test } from 'vitest'
import { parseServiceConfig } from 'yaoki/grpc'
import { errorOf, parseMethod, withMethod } from './configs.ts'

/** Returns a config whose entries have a timeout of 1, 2, 3, ... seconds. */
const withNames = (...entries: readonly (readonly unknown[])[]) => ({
	methodConfig: entries.map((name, index) => ({ name, timeout: `${index + 1}s` })),
})

describe('names of a method config', () => {
	const config = parseServiceConfig(
		withNames(
			[{}],
			[{ service: 'shop.Orders' }],
			[
				{ service: 'shop.Orders', method: 'Get' },
				{ service: 'shop.Carts', method: 'Get' },
			],
		),
	)
	const find = (service: string, method: string) => config.find(service, method)?.timeoutMs

	test('an entry for the method wins over one for the service, and that over the default', () => {
		expect(find('shop.Orders', 'Get')).toBe(3_000)
		expect(find('shop.Orders', 'List')).toBe(2_000)
		expect(find('shop.Carts', 'Get')).toBe(3_000)
		expect(find('shop.Carts', 'List')).toBe(1_000)
		expect(find('other', 'Get')).toBe(1_000)
	})

	test('a more specific entry replaces the others as a whole', () => {
		const { methodConfig } = withNames([{}], [{ service: 'a' }])
		const first = { ...methodConfig[0], waitForReady: true }
		const found = parseServiceConfig({ methodConfig: [first, methodConfig[1]] }).find('a', 'b')
		expect(found?.waitForReady).toBe(undefined)
	})

	test('names are case-sensitive, and no name is a prefix', () => {
		expect(find('Shop.Orders', 'Get')).toBe(1_000)
		expect(find('shop.Orders', 'get')).toBe(2_000)
		expect(find('shop', 'Orders')).toBe(1_000)
	})

	test('give other methods no settings without a default', () => {
		const { methodConfig } = withNames([{ service: 'a', method: 'b' }])
		const one = parseServiceConfig({ methodConfig })
		expect([one.find('a', 'c'), one.find('b', 'b'), one.find('', '')]).toEqual([
			undefined,
			undefined,
			undefined,
		])
	})

	test('an empty string and null are the same as a missing name', () => {
		const all = [
			{},
			{ service: '' },
			{ service: null },
			{ service: '', method: '' },
			{ method: '' },
			{ method: null },
		]
		for (const name of all)
			expect(parseServiceConfig(withNames([name])).find('x', 'y')?.timeoutMs).toBe(1_000)
		const service = parseServiceConfig(withNames([{ service: 'a', method: '' }]))
		expect(service.find('a', 'b')?.timeoutMs).toBe(1_000)
		expect(service.find('b', 'b')).toBe(undefined)
	})

	test.each([{ method: 'Get' }, { service: '', method: 'Get' }, { service: null, method: 'Get' }])(
		'a method without a service is an error: %j',
		(name) => {
			const error = errorOf(withNames([{ service: 'a' }, name]))
			expect(error.optionPath).toBe('methodConfig[0].name[1].service')
			expect(error.expected).toBe('the name of a service, because a method is given')
		},
	)

	test.each([
		[[{}], [{ service: '' }]],
		[[{ service: 'a' }], [{ service: 'a', method: '' }]],
		[[{ service: 'a' }], [{ service: 'a', method: null }]],
		[[{ service: 'a', method: 'b' }], [{ service: 'a', method: 'b' }]],
	])('a name that is repeated in another entry is an error: %j %j', (first, second) => {
		const error = errorOf(withNames(first, [{ service: 'between' }], second))
		expect(error.optionPath).toBe('methodConfig[2].name[0]')
		expect(error.expected).toMatch(
			/^a name that no other entry has: .* is also methodConfig\[0\]\.name\[0\]$/,
		)
	})

	test('a name that is repeated in the same entry is an error', () => {
		const error = errorOf(withNames([{ service: 'a' }, { service: 'b' }, { service: 'a' }]))
		expect(error.optionPath).toBe('methodConfig[0].name[2]')
		expect(error.message).toBe(
			'Invalid option "methodConfig[0].name[2]": expected a name that no other entry has: {"service":"a","method":""} is also methodConfig[0].name[0], got [object Object]',
		)
	})

	test('a slash in a name does not make two names equal', () => {
		const slashes = parseServiceConfig(withNames([{ service: 'a/b' }], [{ service: 'a', method: 'b/' }]))
		expect(slashes.find('a/b', 'x')?.timeoutMs).toBe(1_000)
		expect(slashes.find('a', 'b/')?.timeoutMs).toBe(2_000)
	})

	test('an entry with an empty list of names applies to no method, and is validated', () => {
		const parsed = parseServiceConfig(withNames([]))
		expect(parsed.find('a', 'b')).toBe(undefined)
		expect(parsed.methodConfigs).toMatchObject([{ names: [], config: { timeoutMs: 1_000 } }])
		expect(errorOf({ methodConfig: [{ name: [], timeout: '1' }] }).optionPath).toBe('methodConfig[0].timeout')
	})

	test.each([undefined, null, {}, 'shop.Orders', { service: 'a' }, 1])(
		'an entry without a list of names is an error: %j',
		(name) => {
			expect(errorOf({ methodConfig: [{ name }] }).optionPath).toBe('methodConfig[0].name')
		},
	)

	test.each([null, 'shop.Orders', 1, ['shop.Orders'], true])(
		'a name that is not an object is an error: %j',
		(name) => {
			expect(errorOf(withNames([{}, name])).optionPath).toBe('methodConfig[0].name[1]')
		},
	)

	test.each([1, true, {}, ['a']])('a name that is not a string is an error: %j', (value) => {
		expect(errorOf(withNames([{ service: value }])).optionPath).toBe('methodConfig[0].name[0].service')
		expect(errorOf(withNames([{ service: 'a', method: value }])).optionPath).toBe(
			'methodConfig[0].name[0].method',
		)
	})
})

describe('waitForReady', () => {
	test.each([true, false])('%j is accepted', (waitForReady) => {
		expect(parseMethod({ waitForReady }).waitForReady).toBe(waitForReady)
	})

	test('missing and null are undefined', () => {
		expect(parseMethod({}).waitForReady).toBe(undefined)
		expect(parseMethod({ waitForReady: null }).waitForReady).toBe(undefined)
	})

	test.each(['true', 1, 0, {}, []])('%j is an error', (waitForReady) => {
		const error = errorOf(withMethod({ waitForReady }))
		expect([error.optionPath, error.received]).toEqual(['methodConfig[0].waitForReady', waitForReady])
	})
})

describe.each(['maxRequestMessageBytes', 'maxResponseMessageBytes'] as const)('%s', (field) => {
	test.each([
		[0, 0],
		[4_194_304, 4_194_304],
		[4_294_967_295, 4_294_967_295],
		['0', 0],
		['4194304', 4_194_304],
		['4294967295', 4_294_967_295],
		[null, undefined],
	])('%j is accepted', (value, bytes) => {
		expect(parseMethod({ [field]: value })[field]).toBe(bytes)
	})

	test.each([
		-1,
		1.5,
		4_294_967_296,
		'4294967296',
		'-1',
		'',
		' 1',
		'1.5',
		'1e3',
		'0x10',
		Number.NaN,
		Infinity,
		true,
		[1],
		{},
	])('%s is an error', (value) => {
		const error = errorOf(withMethod({ [field]: value }))
		expect([error.optionPath, error.received]).toEqual([`methodConfig[0].${field}`, value])
		expect(error.expected).toBe('an integer from 0 to 4294967295, as a number or a string')
	})
})

test('the entries are listed in the order of the JSON', () => {
	const { methodConfigs } = parseServiceConfig(
		withNames([{ service: 'b' }], [{ service: 'a', method: 'c' }], [{}]),
	)
	expect(methodConfigs.map(({ names }) => names)).toEqual([
		[{ service: 'b', method: '' }],
		[{ service: 'a', method: 'c' }],
		[{ service: '', method: '' }],
	])
	expect(methodConfigs.map(({ config }) => config.timeoutMs)).toEqual([1_000, 2_000, 3_000])
})
