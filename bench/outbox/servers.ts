/** The servers and processes of one benchmark, which are stopped at its end. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Child, startChild } from './child.ts'
import { BULLMQ_REDIS, RAW_SQLITE, YAOKI_SQLITE } from './peers/index.ts'
import { openServer, type Server } from './postgres.ts'
import { type Redis, startRedis } from './redis.ts'

export class Servers {
	readonly #postgres: Server
	readonly #home: string
	readonly #children: Child[] = []
	readonly #urls = new Map<string, string>()
	#redis: Redis | undefined

	private constructor(postgres: Server, home: string) {
		this.#postgres = postgres
		this.#home = home
	}

	/** Opens what a benchmark needs, and always closes it. */
	static async during<Result>(work: (servers: Servers) => Promise<Result>): Promise<Result> {
		const postgres = await openServer()
		const home = await mkdtemp(join(tmpdir(), 'yaoki-bench-'))
		const servers = new Servers(postgres, home)
		try {
			return await work(servers)
		} finally {
			await servers.#close()
		}
	}

	get about(): string {
		return this.#postgres.about
	}

	/** Returns a process of this contender; processes of one name share a database. Undefined if its server is not installed. */
	async contender(name: string, script?: string): Promise<Child | undefined> {
		const url = this.#urls.get(name) ?? (await this.#urlFor(name))
		if (url === undefined) return undefined
		this.#urls.set(name, url)
		const child = await startChild(name, url, script)
		this.#children.push(child)
		return child
	}

	/** Processes of the available contenders. */
	async contenders(names: readonly string[]): Promise<Child[]> {
		const children: Child[] = []
		for (const name of names) {
			const child = await this.contender(name)
			if (child) children.push(child)
		}
		return children
	}

	/** Returns the URL of a contender's database, to disturb it. */
	urlOf(name: string): string {
		return this.#urls.get(name) ?? ''
	}

	async #urlFor(name: string): Promise<string | undefined> {
		if (name === YAOKI_SQLITE) return join(this.#home, 'outbox.db')
		if (name === RAW_SQLITE) return join(this.#home, 'raw.db')
		if (name !== BULLMQ_REDIS) return this.#postgres.database(name)
		this.#redis ??= await startRedis()
		return this.#redis?.url
	}

	async #close(): Promise<void> {
		for (const child of this.#children) await child.end()
		await this.#redis?.[Symbol.asyncDispose]()
		await this.#postgres[Symbol.asyncDispose]()
		await rm(this.#home, { recursive: true, force: true })
	}
}

/** Scales the number of messages for a smoke test. Targets count only with all messages. */
export const share = Number(process.env['BENCH_SHARE'] ?? 1)

export const scaled = (count: number): number => Math.max(1_000, Math.round((count * share) / 1_000) * 1_000)
