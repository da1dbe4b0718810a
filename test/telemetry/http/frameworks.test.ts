/** The endpoint on real servers, over loopback. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { connect } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
// @ts-expect-error: the types of Express 5 describe what is used here.
import express4 from 'express-4'
import fastify from 'fastify'
import { Hono } from 'hono'
import { Counter, Registry } from 'prom-client'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type MetricsEndpoint, metricsEndpoint } from '../../../src/telemetry/http/metrics-endpoint.ts'
import { eventually } from '../../support/eventually.ts'
import { listen } from '../../support/listen.ts'

const TEXT = '# TYPE up gauge\nup 1\n'

/** Starts a server and returns its URL. */
type Start = (endpoint: MetricsEndpoint) => Promise<string>

async function onNode(listener: RequestListener): Promise<string> {
	const server = createServer(listener)
	onTestFinished(() => {
		server.closeAllConnections()
		server.close()
	})
	return `http://127.0.0.1:${await listen(server)}`
}

const onExpress =
	(create: typeof express): Start =>
	({ node }) => {
		const app = create()
		app.use('/metrics', node)
		return onNode(app as RequestListener)
	}

const servers: Readonly<Record<string, Start>> = {
	'node:http': ({ node }) => onNode(node),
	'Express 5': onExpress(express),
	'Express 4': onExpress(express4 as typeof express),
	async Fastify(endpoint) {
		const app = fastify({ forceCloseConnections: true })
		app.all('/metrics', endpoint.fastify)
		onTestFinished(() => app.close())
		return app.listen({ port: 0, host: '127.0.0.1' })
	},
	Hono({ hono }) {
		const app = new Hono()
		app.all('/metrics', hono)
		return onNode(getRequestListener(app.fetch))
	},
	fetch: ({ fetch }) => onNode(getRequestListener(fetch)),
}

describe.each(Object.entries(servers))('%s', (_, start) => {
	test('returns the metrics', async () => {
		const url = await start(metricsEndpoint({ toPrometheus: async () => TEXT }))
		const response = await fetch(`${url}/metrics`)
		expect(response.status).toBe(200)
		expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
		expect(await response.text()).toBe(TEXT)
	})

	test('responds to HEAD without a body, and rejects POST', async () => {
		const url = await start(metricsEndpoint({ toPrometheus: () => TEXT }))
		const head = await fetch(`${url}/metrics`, { method: 'HEAD' })
		expect([head.status, await head.text()]).toEqual([200, ''])
		const post = await fetch(`${url}/metrics`, { method: 'POST' })
		expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
	})

	test('returns 500 if the scrape fails', async () => {
		vi.spyOn(console, 'warn').mockImplementation(() => undefined)
		const url = await start(metricsEndpoint({ toPrometheus: () => Promise.reject(new Error('down')) }))
		const response = await fetch(`${url}/metrics`)
		expect(response.status).toBe(500)
		expect(response.headers.get('content-type')).toMatch(/^text\/plain/)
	})

	test('survives a client that leaves during a scrape', async () => {
		const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
		const started = Promise.withResolvers<void>()
		const collected = Promise.withResolvers<string>()
		const toPrometheus = vi.fn(() => {
			started.resolve()
			return collected.promise
		})
		const url = await start(metricsEndpoint({ toPrometheus }))
		const socket = connect(Number(new URL(url).port), '127.0.0.1')
		await once(socket, 'connect')
		socket.write('GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n')
		await started.promise
		socket.destroy()
		await once(socket, 'close')
		collected.resolve(TEXT)
		expect((await fetch(`${url}/metrics`)).status).toBe(200)
		expect(warn).not.toHaveBeenCalled()
	})
})

test('Fastify and Hono route HEAD to a route for GET', async () => {
	const endpoint = metricsEndpoint({ toPrometheus: () => TEXT })
	const app = fastify()
	app.get('/metrics', endpoint.fastify)
	expect(await app.inject({ method: 'HEAD', url: '/metrics' })).toMatchObject({ statusCode: 200, body: '' })
	await app.close()
	const hono = new Hono().get('/metrics', endpoint.hono)
	const head = await hono.request('/metrics', { method: 'HEAD' })
	expect([head.status, await head.text()]).toEqual([200, ''])
})

test('a response that a middleware ended before is reported once and changes nothing', async () => {
	const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
	const { node } = metricsEndpoint({ toPrometheus: () => TEXT })
	const url = await onNode((request, response) => {
		node(request, response)
		response.writeHead(503).end('too late')
	})
	for (let scrape = 0; scrape < 2; scrape++) expect((await fetch(url)).status).toBe(503)
	await eventually(() => expect(warn).toHaveBeenCalledOnce())
})

test('serves a registry of prom-client', async () => {
	const registry = new Registry()
	new Counter({ name: 'orders_total', help: 'Orders.', registers: [registry] }).inc(3)
	const url = await onNode(metricsEndpoint(registry).node)
	const response = await fetch(url)
	expect(response.headers.get('content-type')).toBe(registry.contentType)
	expect(await response.text()).toContain('orders_total 3')
})
