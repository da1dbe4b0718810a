import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { AxiosResponseView } from '../../../../src/http/adapters/axios/axios-response.ts'

const answered = (data: unknown, headers: object = {}) =>
	new AxiosResponseView({ status: 503, statusText: 'Busy', headers, config: {}, data }, 'http://a.test/')

describe('the response that a hook receives', () => {
	test('has the status and the URL', () => {
		expect(answered('')).toMatchObject({ status: 503, statusText: 'Busy', ok: false, url: 'http://a.test/' })
	})

	test.each([
		['a text', 'busy'],
		['a Buffer', Buffer.from('busy')],
		['an ArrayBuffer', new TextEncoder().encode('busy').buffer],
		['a Blob', new Blob(['busy'])],
	])('has the body once if it is %s', async (_, data) => {
		expect(await answered(data).text()).toBe('busy')
		expect(await (await answered(data).blob()).text()).toBe('busy')
		const response = answered(data)
		expect(response.bodyUsed).toBe(false)
		expect(Buffer.from(await response.arrayBuffer()).toString()).toBe('busy')
		expect(response.bodyUsed).toBe(true)
		await expect(response.text()).rejects.toThrow(TypeError)
	})

	test('does not read a stream, which belongs to the caller', async () => {
		const data = Readable.from(['busy'])
		expect(await answered(data).text()).toBe('')
		expect(data.readableDidRead).toBe(false)
	})

	test('has the headers, joined if there are several lines', () => {
		const response = answered('', { 'Set-Cookie': ['a=1', 'b=2'], 'Retry-After': 7, 'x-none': undefined })
		expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
		expect(response.headers.has('x-none')).toBe(false)
		expect(response.header('set-cookie')).toBe('a=1, b=2')
		expect(response.header('retry-after')).toBe('7')
		expect(response.header('x-none')).toBeNull()
	})
})
