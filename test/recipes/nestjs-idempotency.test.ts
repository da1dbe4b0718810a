import 'reflect-metadata'
import {
	Body,
	type CanActivate,
	Controller,
	type ExecutionContext,
	Module,
	Post,
	Req,
	Res,
	type Type,
	UnprocessableEntityException,
	UseInterceptors,
} from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
	type IdempotencyRequest,
	idempotency,
	memoryIdempotencyStore,
	sqliteIdempotencyStore,
} from 'yaoki/idempotency'
import {
	IdempotencyInterceptor,
	type UserRequest,
} from './.cache/nestjs-idempotency/idempotency.interceptor.ts'
import { BUSY, headersOf, json, startServer } from './support/services.ts'

/** Sets `req.user`, as the guards of Passport do. */
const auth: CanActivate = {
	canActivate(context: ExecutionContext): boolean {
		const request = context.switchToHttp().getRequest()
		const { authorization } = request.headers
		if (authorization !== undefined) request.user = { id: authorization }
		return true
	},
}

interface Sent {
	readonly key?: string
	readonly user?: string
	readonly amount?: number
}

/** Starts an application with the guard. Returns a function that sends a charge, and returns the status, the body and whether it is a replay. */
async function startApplication(controller: Type) {
	@Module({ controllers: [controller], providers: [{ provide: APP_GUARD, useValue: auth }] })
	class AppModule {}

	const app = await NestFactory.create(AppModule, { logger: false })
	await app.listen(0, '127.0.0.1')
	onTestFinished(() => app.close())
	const url = `${await app.getUrl()}/charges`
	return async ({ key = 'k1', user = 'ada', amount = 5 }: Sent = {}) => {
		const response = await fetch(url, {
			method: 'POST',
			headers: {
				'content-type': 'application/json',
				'idempotency-key': key,
				...(user && { authorization: user }),
			},
			body: JSON.stringify({ amount }),
		})
		return [response.status, await response.json(), response.headers.has('idempotency-replayed')] as const
	}
}

/** A controller with the interceptor, whose handler is this function. */
function controllerOf(handle: (amount: number) => unknown, store = memoryIdempotencyStore()) {
	const engine = idempotency({
		store,
		principal: ({ raw }: IdempotencyRequest<UserRequest>) => raw.user?.id,
		waitMs: 60_000,
	})

	@Controller('charges')
	@UseInterceptors(new IdempotencyInterceptor(engine))
	class ChargesController {
		@Post()
		create(@Body() { amount }: { readonly amount: number }): unknown {
			return handle(amount)
		}
	}

	return ChargesController
}

test('the controller of the recipe charges once for each user and key', async () => {
	const service = await startServer([BUSY, json({ id: 'c1' }), json({ id: 'c2' })])
	vi.stubEnv('API_URL', service.origin)
	onTestFinished(() => void vi.unstubAllEnvs())
	vi.resetModules()
	const { ChargesController } = await import('./.cache/nestjs-idempotency/charges.controller.ts')
	const charge = await startApplication(ChargesController)
	expect(await charge()).toEqual([201, { id: 'c1' }, false])
	expect(await charge()).toEqual([201, { id: 'c1' }, true])
	expect(await charge({ user: 'bob' })).toEqual([201, { id: 'c2' }, false])
	expect(await charge({ user: 'bob' })).toEqual([201, { id: 'c2' }, true])
	expect(await charge({ user: 'ada' })).toEqual([201, { id: 'c1' }, true])
	expect(await charge({ amount: 6 })).toMatchObject([422, { code: 'idempotency-key-reused' }, false])
	const [retried, again, other] = headersOf(service, 'idempotency-key')
	expect(again).toBe(retried)
	expect(other).not.toBe(retried)
	expect(service.requests).toHaveLength(3)
})

test('a request without a user gets 401, and the controller does not run', async () => {
	const handle = vi.fn()
	const charge = await startApplication(controllerOf(handle))
	expect(await charge({ user: '' })).toMatchObject([401, { code: 'principal-missing' }, false])
	expect(handle).not.toHaveBeenCalled()
})

test('a concurrent duplicate waits for the response', async () => {
	const { promise: isRunning, resolve: runs } = Promise.withResolvers<void>()
	const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
	const handle = vi.fn(async (amount: number) => {
		runs()
		await mayEnd
		return { amount }
	})
	const store = memoryIdempotencyStore()
	const claim = vi.spyOn(store, 'claim')
	const charge = await startApplication(controllerOf(handle, store))
	const first = charge()
	await isRunning
	const second = charge()
	await vi.waitUntil(() => claim.mock.calls.length > 1, { timeout: 60_000 })
	end()
	expect(await first).toEqual([201, { amount: 5 }, false])
	expect(await second).toEqual([201, { amount: 5 }, true])
	expect(handle).toHaveBeenCalledTimes(1)
})

test('the status of an exception decides whether its response is stored', async () => {
	const handle = vi.fn((amount: number) => {
		if (amount < 0) throw new UnprocessableEntityException('negative')
		if (handle.mock.calls.length === 1) throw new Error('bug')
		return { amount }
	})
	const charge = await startApplication(controllerOf(handle))
	expect((await charge())[0]).toBe(500)
	expect(await charge()).toEqual([201, { amount: 5 }, false])
	expect(await charge()).toEqual([201, { amount: 5 }, true])
	const rejected = [422, { statusCode: 422, message: 'negative', error: 'Unprocessable Entity' }] as const
	expect(await charge({ key: 'k2', amount: -1 })).toEqual([...rejected, false])
	expect(await charge({ key: 'k2', amount: -1 })).toEqual([...rejected, true])
	expect(handle).toHaveBeenCalledTimes(3)
})

test('a transaction sends its own response', async () => {
	const store = sqliteIdempotencyStore(':memory:')
	await store.migrate()
	onTestFinished(() => store.close())
	const engine = idempotency({
		name: 'shop',
		store,
		principal: ({ raw }: IdempotencyRequest<UserRequest>) => raw.user?.id,
	})

	@Controller('charges')
	@UseInterceptors(new IdempotencyInterceptor(engine))
	class ChargesController {
		@Post()
		async create(@Req() request: UserRequest, @Res() _response: unknown): Promise<void> {
			await engine.context(request).transaction((tx) => {
				tx.exec('CREATE TABLE charges (id TEXT)')
				return Response.json({ id: 'c1' }, { status: 202 })
			})
		}
	}

	const charge = await startApplication(ChargesController)
	expect(await charge()).toEqual([202, { id: 'c1' }, false])
	expect(await charge()).toEqual([202, { id: 'c1' }, true])
})

test('an error of principal goes to the exception filters', async () => {
	const engine = idempotency({
		store: memoryIdempotencyStore(),
		principal: (): never => {
			throw new UnprocessableEntityException('no principal')
		},
	})
	const handle = vi.fn()

	@Controller('charges')
	@UseInterceptors(new IdempotencyInterceptor(engine))
	class ChargesController {
		@Post()
		create(): unknown {
			return handle()
		}
	}

	const charge = await startApplication(ChargesController)
	expect(await charge()).toMatchObject([422, { message: 'no principal' }, false])
	expect(handle).not.toHaveBeenCalled()
})
