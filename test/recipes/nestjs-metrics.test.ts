/** What docs/guide/metrics-endpoint.md says about NestJS. */
import 'reflect-metadata'
import { type CanActivate, Controller, Get, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { expect, onTestFinished, test } from 'vitest'
import { retry } from 'yaoki'
import { inMemoryMetrics, metricsEndpoint, observe } from 'yaoki/telemetry'

@Controller('users')
class UsersController {
	@Get()
	list(): readonly string[] {
		return []
	}
}

@Module({ controllers: [UsersController] })
class AppModule {}

const denies: CanActivate = { canActivate: () => false }

test('a middleware serves the metrics, without the global prefix and global guards', async () => {
	const users = retry()
	const metrics = inMemoryMetrics()
	onTestFinished(observe({ users }, [metrics]))
	await users.execute(() => undefined)

	const app = await NestFactory.create(AppModule, { logger: false })
	app.setGlobalPrefix('api')
	app.useGlobalGuards(denies)
	app.use('/metrics', metricsEndpoint(metrics).node)
	await app.listen(0, '127.0.0.1')
	onTestFinished(() => app.close())
	const url = await app.getUrl()

	const response = await fetch(`${url}/metrics`)
	expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
	expect(await response.text()).toContain('yaoki_calls_total{service="users",outcome="success"} 1')
	expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(405)
	expect((await fetch(`${url}/api/users`)).status).toBe(403)
})
