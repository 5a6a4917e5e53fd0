-- Copies the client :client of the realm :realm, its service account and that one's roles :count
-- times; the copies are named client-1 to client-N.

WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count)
INSERT INTO clients (realm_id, id, client_id, settings, secret)
SELECT c.realm_id, c.id || '-' || n, c.client_id || '-' || n,
       replace(replace(c.settings, c.id, c.id || '-' || n),
               '"' || c.client_id || '"', '"' || c.client_id || '-' || n || '"'),
       c.secret
FROM numbers, clients c JOIN realms r ON r.id = c.realm_id
WHERE r.name = :realm AND c.client_id = :client;

WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count)
INSERT INTO users (realm_id, id, username, enabled, created_at, email_verified,
                   service_account_client, document)
SELECT u.realm_id, u.id || '-' || n, u.username || '-' || n, u.enabled, u.created_at,
       u.email_verified, u.service_account_client || '-' || n, u.document
FROM numbers, clients c JOIN realms r ON r.id = c.realm_id
JOIN users u ON u.realm_id = c.realm_id AND u.service_account_client = c.id
WHERE r.name = :realm AND c.client_id = :client;

WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count)
INSERT INTO user_roles (realm_id, user_id, role_id)
SELECT g.realm_id, g.user_id || '-' || n, g.role_id
FROM numbers, clients c JOIN realms r ON r.id = c.realm_id
JOIN users u ON u.realm_id = c.realm_id AND u.service_account_client = c.id
JOIN user_roles g ON g.realm_id = u.realm_id AND g.user_id = u.id
WHERE r.name = :realm AND c.client_id = :client;
