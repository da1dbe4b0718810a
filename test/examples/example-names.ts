/** Names of a user that examples in doc comments assume. They are only compiled, so they have types and no values. */
import type { Server } from 'node:http'
import type { DatabaseSync } from 'node:sqlite'
import type { ConnectRouter } from '@connectrpc/connect'
import type { ChannelCredentials, Client } from '@grpc/grpc-js'
import type { Express, RequestHandler } from 'express'
import type { FastifyInstance } from 'fastify'
import type { Pool, PoolClient } from 'pg'
import type { Budget, Bulkhead, CircuitBreaker, Keyed, Policy, RateLimiter, Runtime } from 'yaoki'
import type { ResilientInterceptor, ServiceConfig } from 'yaoki/grpc'
import type { ResilientHttpClient } from 'yaoki/http'
import type { IdempotencyContext, IdempotencyEngine } from 'yaoki/idempotency'
import type { IdempotencyStoreUnderTest } from 'yaoki/idempotency/testing'
import type {
	BatchReport,
	drizzleTx,
	Inbox,
	knexTx,
	kyselyTx,
	Message,
	mikroOrmTx,
	Outbox,
	postgresJsTx,
	prismaTx,
	Relay,
	sequelizeTx,
	typeormTx,
	Webhooks,
} from 'yaoki/outbox'
import type { OutboxStore } from 'yaoki/outbox/store'
import type { OutboxStoreUnderTest } from 'yaoki/outbox/testing'
import type { Scenario, TuneOptions, VariantStudy } from 'yaoki/sim'
import type { StudyResult } from 'yaoki/sim/report'
import type { z } from 'zod'

interface UserOfShop {
	readonly id: string
	readonly name: string
}
interface Signalled {
	readonly signal?: AbortSignal | undefined
}
interface OrderOfShop {
	readonly id: string
	readonly amount: number
}

export declare const id: string
export declare const url: string
export declare const sql: string
export declare const text: string
export declare const address: string
export declare const baseUrl: string
export declare const connectionString: string
export declare const lines: readonly string[]
export declare const stock: number
export declare const failedAt: number
export declare const json: object
export declare const request: Request
export declare const response: Response
export declare const body: unknown
export declare const user: UserOfShop
export declare const order: OrderOfShop

export declare function loadUser(id: string, signal?: AbortSignal): Promise<UserOfShop>
export declare function cachedUser(id: string): UserOfShop
export declare function userOf(raw: unknown): UserOfShop | undefined
export declare function charge(order: OrderOfShop, options?: Signalled): Promise<string>
export declare function load(...args: readonly unknown[]): Promise<string>
export declare function loadFromReplica(about: unknown): Promise<string>
export declare function loadRates(currency: string): Promise<number>
export declare function query(sql: string): Promise<unknown>
export declare function insertOrder(tx: unknown, body: unknown): Promise<OrderOfShop>
export declare function getToken(): Promise<string>
export declare function handle(...args: readonly unknown[]): Promise<Response>
export declare function flaky(): Promise<string>
export declare function alwaysFails(): Promise<never>
export declare function maintenance(): Promise<void>
export declare function send(): void
export declare function show(progress: unknown): void
export { expect } from 'vitest'
export declare function page(service: string): void
export declare function test(name: string, run: () => Promise<void>): void
export declare class StockError extends Error {}

export declare const policy: Policy
export declare const payments: CircuitBreaker
export declare const budget: Budget
export declare const limiter: RateLimiter
export declare const perHost: Keyed<CircuitBreaker>
export declare const perTenant: Keyed<Bulkhead>
export declare const runtime: Runtime
export declare const client: ResilientHttpClient
export declare const User: z.ZodType<UserOfShop>

export declare const app: Express
export declare const handler: RequestHandler
export declare const fastify: FastifyInstance
export declare const server: Server
export declare const engine: IdempotencyEngine
export declare const context: IdempotencyContext
export declare const message: {
	readonly id: string
	readonly body: OrderOfShop & { readonly accountId: string }
}
export declare const stripe: { charge(order: OrderOfShop, options: object): Promise<object> }

export declare const data: object

/** What ORMs pass to the callback of a transaction: what a function of the package takes, with the methods of an example. */
type OrmTx<Function extends (tx: never) => unknown, Methods> = Parameters<Function>[0] & Methods
type OrmCallback<Tx> = <T>(run: (tx: Tx) => Promise<T>) => Promise<T>
type Inserts = (...what: readonly unknown[]) => Promise<unknown>

export declare const prisma: {
	$transaction: OrmCallback<
		OrmTx<typeof prismaTx, { readonly order: { create(options: object): Promise<OrderOfShop> } }>
	>
}
export declare function drizzle(client: Pool): {
	transaction: OrmCallback<OrmTx<typeof drizzleTx, { insert(table: object): { values: Inserts } }>>
}
export declare class Kysely<Tables> {
	constructor(options: { readonly dialect: object })
	transaction(): {
		execute: OrmCallback<
			OrmTx<
				typeof kyselyTx,
				{ insertInto(table: keyof Tables): { values(row: object): { execute: Inserts } } }
			>
		>
	}
}
export declare class Database {
	readonly orders: OrderOfShop
}
export declare const dialect: object
export declare const knex: {
	transaction: OrmCallback<OrmTx<typeof knexTx, (table: string) => { insert: Inserts }>>
}
export declare const sequelize: { transaction: OrmCallback<OrmTx<typeof sequelizeTx, unknown>> }
export declare const dataSource: {
	transaction: OrmCallback<OrmTx<typeof typeormTx, { readonly save: Inserts }>>
}
export declare const orm: {
	readonly em: {
		fork(): {
			transactional: OrmCallback<
				OrmTx<
					typeof mikroOrmTx,
					{ persist(entity: object): void; create(type: object, data: object): object; flush: Inserts }
				>
			>
		}
	}
}
export declare function postgres(url: string): {
	begin: OrmCallback<
		OrmTx<
			typeof postgresJsTx,
			((values: object) => object) & ((parts: TemplateStringsArray, ...values: object[]) => Promise<unknown>)
		>
	>
}
/** An entity of an ORM, and a table of one. */
export declare const Order: { readonly create: Inserts }
export declare const orders: object

export declare const pool: Pool
export declare const db: DatabaseSync
export declare const store: OutboxStore
export declare const outbox: Outbox
export declare const relay: Relay
export declare const OrderCreated: z.ZodType<OrderOfShop>
export declare const inbox: Inbox
export declare const webhooks: Webhooks
export declare const messageId: string
export declare const tx: PoolClient
export declare const search: { index(messages: readonly Message[]): Promise<BatchReport> }
export declare const sms: {
	send(payload: unknown, options: Signalled): Promise<{ readonly status: number; readonly text: string }>
}
export declare const mailer: { send(payload: unknown, options: object): Promise<void> }
export declare const billing: { charge(payload: unknown, id: string): Promise<void> }
export declare function openMyStore(): Promise<OutboxStoreUnderTest & IdempotencyStoreUnderTest>

export declare const credentials: ChannelCredentials
export declare const config: ServiceConfig
export declare const interceptor: ResilientInterceptor
export declare const UsersClient: typeof Client
export { Users } from '../grpc/support/users.ts'
export declare function routes(router: ConnectRouter): void

export declare const scenario: Scenario & Required<Pick<Scenario, 'policies'>>
export declare const herd: Scenario
export declare const study: VariantStudy
export declare const result: StudyResult
export declare const options: TuneOptions
export declare function scenarioWith(jitterStrategy: 'none' | 'full'): Scenario
