import * as undici from 'undici'
import { describe, expect, it } from 'vitest'
import { undiciTransport } from '../../../src/http/transport/undici-transport.ts'
import { init, serve } from './local-server.ts'

describe('undiciTransport', () => {
	it.each<[object, string]>([
		[{ maxRedirects: -1 }, 'Invalid option "maxRedirects": expected a number from 0 to 1000, got -1'],
		[{ maxRedirects: 1.5 }, 'Invalid option "maxRedirects": expected an integer, got 1.5'],
		[
			{ dispatcher: {} },
			'Invalid option "dispatcher": expected an undici dispatcher such as new Agent(), got [object Object]',
		],
		[{ dispatcher: 'agent' }, 'Invalid option "dispatcher"'],
		[{ maxRedirect: 3 }, 'Unknown option "maxRedirect" for undiciTransport. Did you mean "maxRedirects"?'],
	])('rejects %o', (options, message) => {
		expect(() => undiciTransport(undici, options)).toThrow(message)
	})

	it('rejects anything but the undici module', () => {
		const nothing = undefined as unknown as typeof undici
		expect(() => undiciTransport(nothing)).toThrow(
			'Invalid option "undiciTransport(undici)": expected the undici module',
		)
	})

	it('sends over the given dispatcher', async () => {
		const { url } = await serve()
		const paths: string[] = []
		const dispatcher = new undici.Agent().compose((dispatch) => (options, handler) => {
			paths.push(options.path)
			return dispatch(options, handler)
		})
		const response = await undiciTransport(undici, { dispatcher })(`${url}/there`, init())
		expect([await response.text(), paths]).toEqual(['ok', ['/there']])
		await dispatcher.close()
	})

	it('lets an interceptor listen to the signal too', async () => {
		const { url } = await serve((_, response) => void response.write('half'))
		const dispatcher = new undici.Agent().compose(undici.interceptors.dump())
		const controller = new AbortController()
		const heard: string[] = []
		const listening = dispatcher.compose((dispatch) => (options, handler) => {
			const { signal } = options as unknown as { signal: EventTarget }
			const note = () => heard.push('abort')
			const noteNothing = () => heard.push('nothing')
			signal.addEventListener('abort', note)
			signal.addEventListener('abort', noteNothing)
			signal.removeEventListener('abort', noteNothing)
			return dispatch(options, handler)
		})
		const asked = undiciTransport(undici, { dispatcher: listening })(url, init({ signal: controller.signal }))
		setImmediate(() => controller.abort('too late'))
		await expect(asked).rejects.toBe('too late')
		expect(heard).toEqual(['abort'])
		await dispatcher.destroy()
	})

	it("passes on undici's errors unchanged", async () => {
		await expect(undiciTransport(undici)('http://127.0.0.1:1', init())).rejects.toMatchObject({
			code: 'ECONNREFUSED',
		})
		const { url } = await serve((_, response) => response.destroy())
		await expect(undiciTransport(undici)(url, init())).rejects.toMatchObject({ code: 'UND_ERR_SOCKET' })
	})

	it('accepts undici’s own form class', async () => {
		const { url, seen } = await serve()
		const form = new undici.FormData()
		form.append('name', 'Ada')
		const body = form as unknown as FormData
		await (await undiciTransport(undici)(url, init({ method: 'POST', body }))).text()
		expect(seen[0]?.body.toString()).toContain('Ada')
		expect(seen[0]?.headers['content-type']).toMatch(/^multipart/)
	})
})
