/** Throws a TypeError if a URL has credentials: `fetch` rejects them with a message that contains them, and undici drops them. */
export function rejectCredentials({ username, password }: URL): void {
	if (username || password)
		throw new TypeError('URLs with credentials are not supported; use the authorization header')
}
