import 'reflect-metadata'
import { Controller, Get, HttpCode, Inject, Module, Param } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { expect, expectTypeOf, onTestFinished, test, vi } from 'vitest'
import { retry } from 'yaoki'
import type { Step } from '../http/faults/fault-server.ts'
import { hang, reset } from '../http/faults/steps.ts'
import { Resilient } from './.cache/nestjs-decorator/resilient.decorator.ts'
import { BUSY, json, skipBackoff, startServer } from './support/services.ts'

let failures = 0
const policy = retry({ maxRetries: 2, baseDelayMs: 1 })

/** Starts an application whose service calls a server that plays the script. */
async function startApplication(...script: readonly [Step, ...Step[]]) {
	const service = await startServer(script)
	vi.stubEnv('API_URL', service.origin)
	onTestFinished(() => void vi.unstubAllEnvs())
	vi.resetModules()
	const { UsersService } = await import('./.cache/nestjs-decorator/users.service.ts')
	type Users = InstanceType<typeof UsersService>
	expectTypeOf<Users['find']>().toEqualTypeOf<(id: string) => Promise<{ readonly name: string }>>()

	@Controller('users')
	class UsersController {
		@Inject(UsersService) readonly users!: Users

		@Get(':id')
		find(@Param('id') id: string): Promise<unknown> {
			return this.users.find(id)
		}

		@Resilient(policy)
		@Get(':id/above')
		@HttpCode(202)
		async above(@Param('id') id: string): Promise<string> {
			return this.nth(id)
		}

		@Get(':id/below')
		@HttpCode(202)
		@Resilient(policy)
		async below(@Param('id') id: string): Promise<string> {
			return this.nth(id)
		}

		nth(id: string): string {
			if (++failures < 3) throw new Error('busy')
			return `user ${id} after ${failures} attempts`
		}
	}

	@Module({ controllers: [UsersController], providers: [UsersService] })
	class AppModule {}

	const app = await NestFactory.create(AppModule, { logger: false })
	await app.listen(0, '127.0.0.1')
	onTestFinished(() => app.close())
	const url = await app.getUrl()
	return { service, get: (path: string) => fetch(`${url}${path}`) }
}

test('a method is called until it succeeds', async () => {
	const { service, get } = await startApplication(BUSY, reset('request-head'), json({ name: 'Ada' }))
	const response = await get('/users/7')
	expect([response.status, await response.json()]).toEqual([200, { name: 'Ada' }])
	expect(service.requests.map(({ path }) => path)).toEqual(['/users/7', '/users/7', '/users/7'])
})

test('Nest responds with 500 after the last attempt', async () => {
	skipBackoff()
	const { service, get } = await startApplication(json({ error: 'down' }, 502))
	expect((await get('/users/7')).status).toBe(500)
	expect(service.requests).toHaveLength(3)
})

test('a permanent failure is one call', async () => {
	const { service, get } = await startApplication(json({ error: 'none' }, 404))
	expect((await get('/users/8')).status).toBe(500)
	expect(service.requests).toHaveLength(1)
})

test('a timeout aborts the request of the method, whose signal it is', async () => {
	skipBackoff()
	const { service, get } = await startApplication(hang(), json({ name: 'Ada' }))
	expect((await get('/users/7')).status).toBe(200)
	await service.aborted(1)
	expect(service.requests).toHaveLength(2)
})

test.each(['above', 'below'])(
	'the metadata and arguments of decorators are kept if it is %s them',
	async (path) => {
		failures = 0
		const { get } = await startApplication(json({}))
		const response = await get(`/users/7/${path}`)
		expect([response.status, await response.text()]).toEqual([202, 'user 7 after 3 attempts'])
	},
)

test('a method that returns no promise cannot be decorated', () => {
	class Users {
		// @ts-expect-error: its result would become a promise.
		@Resilient(policy)
		find(): string {
			return 'Ada'
		}
	}
	expect(new Users().find()).toBeInstanceOf(Promise)
})
