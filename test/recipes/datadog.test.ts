import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import { retry } from 'yaoki'
import { observe } from 'yaoki/telemetry'

interface Metric {
	readonly name: string
	readonly sum?: { readonly aggregationTemporality: number; readonly dataPoints: readonly Point[] }
}

interface Point {
	readonly asDouble?: number
	readonly asInt?: number
	readonly attributes: readonly { key: string; value: { stringValue: string } }[]
}

interface Body {
	readonly resourceMetrics: readonly {
		readonly resource: { readonly attributes: readonly { key: string; value: { stringValue: string } }[] }
		readonly scopeMetrics: readonly { readonly metrics: readonly Metric[] }[]
	}[]
}

/** Stands in for the agent: receives OTLP over HTTP. */
async function startAgent() {
	const bodies: Body[] = []
	const server = createServer(async (request, response) => {
		const body = await json(request)
		if (request.url === '/v1/metrics') bodies.push(body as Body)
		response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
	})
	server.listen(0, '127.0.0.1')
	await once(server, 'listening')
	onTestFinished(() => {
		server.closeAllConnections()
		server.close()
	})
	return { bodies, port: (server.address() as AddressInfo).port }
}

test('the agent receives the metrics as differences, with the tags of the service', async () => {
	const agent = await startAgent()
	vi.stubEnv('DD_AGENT_HOST', '127.0.0.1')
	vi.stubEnv('DD_OTLP_PORT', String(agent.port))
	vi.stubEnv('DD_SERVICE', 'checkout')
	onTestFinished(() => void vi.unstubAllEnvs())
	const { datadog, provider } = await import('./.cache/datadog/datadog.ts')
	onTestFinished(() => provider.shutdown())
	const payments = retry({ maxRetries: 2, baseDelayMs: 1 })
	onTestFinished(observe({ payments }, [datadog]))

	const retried = async () => {
		agent.bodies.length = 0
		await payments.execute(({ attempt }) => {
			if (attempt === 0) throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
		})
		await provider.forceFlush()
		return agent.bodies.flatMap(({ resourceMetrics }) => resourceMetrics)
	}

	const [first] = await retried()
	const tags = first?.resource.attributes.map(({ key, value }) => [key, value.stringValue])
	expect(Object.fromEntries(tags ?? [])).toMatchObject({
		'service.name': 'checkout',
		'deployment.environment.name': 'development',
		'service.version': 'unknown',
	})
	// The second export has the second retry only: 1 means delta in OTLP.
	for (const sent of [first, (await retried())[0]]) {
		const metrics = sent?.scopeMetrics.flatMap((scope) => scope.metrics) ?? []
		const { sum } = metrics.find(({ name }) => name === 'yaoki.retries') ?? {}
		expect(sum?.aggregationTemporality).toBe(1)
		expect(sum?.dataPoints.map(({ asDouble, asInt, attributes }) => [asDouble ?? asInt, attributes])).toEqual(
			[[1, [{ key: 'yaoki.service', value: { stringValue: 'payments' } }]]],
		)
		expect(metrics.map(({ name }) => name)).toContain('yaoki.calls')
	}
})
