/** The same six small programs, once per library. What a library does not have is written by hand, as its users must. */
import * as z from 'zod'

export const User: z.ZodObject<{ name: z.ZodString }> = z.object({ name: z.string() })
export type User = z.infer<typeof User>

/** A function that may fail. */
export type Load = () => Promise<string>

export interface Session {
	token: string
	/** Renews `token`. */
	refresh(): Promise<void>
}

export interface Programs {
	/** Two retries with exponential backoff and jitter. */
	retry(load: Load): Promise<string>
	/** GET with retries, a timeout per attempt, and validation. */
	getJson(url: string): Promise<User>
	/** A circuit breaker that opens after two failures, and a fallback while it is open. */
	breaker(load: Load): Load
	/** Two concurrent calls, a queue of two; others are rejected. */
	bulkhead(load: Load): Load
	/** POST that the server can recognize when it is sent again. */
	post(url: string): Promise<string>
	/** GET with a token that is renewed once for all concurrent requests. */
	auth(session: Session, baseUrl: string): (path: string) => Promise<string>
}
