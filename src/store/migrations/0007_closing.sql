-- Closing beside everything else: usage of other periods need not wait for a close, and closes of
-- one project wait for each other only to number their invoices.

-- Up to where a project's periods are being closed. Usage of a period that ended before it goes
-- through the subscription's row.
create table usage_seals (
  project_id uuid primary key references projects,
  sealed_until timestamptz not null
);

-- Fees are many and need no number: they are written before their invoices.
alter table fees
  alter constraint fees_project_id_invoice_id_fkey deferrable initially deferred;
